"""The slow, obvious oracle of training."""

import numpy as np
import torch
import torch.nn.functional as F


def train_plainly(network, values, codes, n_epochs, batch_size, seed, weights=None):
    """The paper's protocol without anything around it; returns the loss of the training set after every epoch."""
    x, target = torch.from_numpy(values), torch.from_numpy(codes)
    weights = None if weights is None else torch.tensor(weights)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    losses, best = [], None
    for epoch in range(n_epochs):
        network.train()
        order = np.random.default_rng([seed, epoch]).permutation(len(x))
        for start in range(0, len(x), batch_size):
            chosen = order[start : start + batch_size]
            optimizer.zero_grad()
            F.cross_entropy(network(x[chosen]).logits, target[chosen], weights).backward()
            optimizer.step()
        network.eval()
        with torch.no_grad():
            losses.append(F.cross_entropy(network(x).logits, target, weights).item())
        if losses[-1] == min(losses):
            best = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(best)
    return losses
