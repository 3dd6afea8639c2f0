"""The slow, obvious oracle of training."""

import numpy as np
import torch
import torch.nn.functional as F


def train_plainly(network, values, codes, n_epochs, batch_size, seed, weights=None, rate=0.001, smoothing=0.0):
    """The paper's protocol without anything around it; returns the loss of the training set after every epoch."""
    dtype = next(network.parameters()).dtype
    x, target = torch.from_numpy(values).to(dtype), torch.from_numpy(codes)
    weights = None if weights is None else torch.tensor(weights, dtype=dtype)
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    losses, best = [], None
    for epoch in range(n_epochs):
        network.train()
        order = np.random.default_rng([seed, epoch]).permutation(len(x))
        for start in range(0, len(x), batch_size):
            chosen = order[start : start + batch_size]
            optimizer.zero_grad()
            logits = network(x[chosen]).logits
            F.cross_entropy(logits, target[chosen], weights, label_smoothing=smoothing).backward()
            optimizer.step()
        network.eval()
        with torch.no_grad():
            losses.append(F.cross_entropy(network(x).logits, target, weights).item())
        if losses[-1] == min(losses):
            best = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(best)
    return losses
