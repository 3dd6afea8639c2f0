"""Random convolutional kernels with a linear head: the ROCKET family as multiple instance learning.

A feature of these methods is a sum over the timepoints of a series, so a linear function of the features is one too:
every timepoint has an exact share in every logit.
"""
