"""Conjunctive pooling on bags that are not series: which items in a shopping basket point to a baby."""

import torch

from millet.nn import ConjunctivePooling

ITEMS = ["bread", "milk", "nappies", "wine", "apples", "rattle", "soap", "cheese"]
TELLING = torch.tensor([ITEMS.index("nappies"), ITEMS.index("rattle")])


def main() -> None:
    torch.manual_seed(0)
    embeddings = torch.randn(len(ITEMS), 16)  # each item as a vector, from wherever you have it
    baskets = torch.stack([torch.randperm(len(ITEMS)) for _ in range(200)])  # (B, T), a basket in each row ...
    sizes = torch.randint(2, 6, (200, 1))
    valid = torch.arange(len(ITEMS)) < sizes  # ... of which only the first few items are in it
    baby = (torch.isin(baskets, TELLING) & valid).any(1).long()

    pooling = ConjunctivePooling(d_in=16, n_classes=2)
    optimizer = torch.optim.Adam(pooling.parameters(), lr=0.02)
    for _ in range(150):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(pooling(embeddings[baskets], valid).logits, baby).backward()
        optimizer.step()

    with torch.inference_mode():
        output = pooling(embeddings[baskets], valid)
        print(f"Baskets told right: {(output.logits.argmax(1) == baby).float().mean():.0%}")
        one = int(baby.nonzero()[0])
        for item, score in zip(baskets[one, valid[one]].tolist(), output.scores[one, 1].tolist(), strict=False):
            print(f"  {ITEMS[item]:<8} {score:+6.2f}")
        print(f"Their mean is the basket's logit for a baby: {output.logits[one, 1]:+.2f}")


if __name__ == "__main__":
    main()
