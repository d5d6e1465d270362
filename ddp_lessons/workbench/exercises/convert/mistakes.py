"""The usual mistakes in converting a script: each gives what the given script, on a single card, gives when changed.

A mistake is a hint, and the changes that it may amount to: `{old text: new text}`. In the new text, WORLD is the number
of ranks, and the functions below are at hand.
"""

import torch
from torch.utils.data import Dataset, DistributedSampler, Subset


def share(data: Dataset, rank: int, world_size: int) -> Subset:
    """Return a rank's share of the samples, none of them twice."""
    return Subset(data, list(range(rank, len(data), world_size)))


def shuffled(data: Dataset, epoch: int) -> Subset:
    """Return the samples in the order of a DistributedSampler."""
    sampler = DistributedSampler(data, 1, 0)
    sampler.set_epoch(epoch)
    return Subset(data, list(sampler))


def padded(data: Dataset, world_size: int) -> Subset:
    """Return the samples, the first ones a second time, so that all shares have the same size."""
    return Subset(data, [i % len(data) for i in range(len(data) + -len(data) % world_size)])


def cut(data: Dataset, world_size: int) -> Subset:
    """Return the samples without the last ones, so that all shares have the same size."""
    return Subset(data, list(range(len(data) - len(data) % world_size)))


def in_blocks(data: Dataset, batch: int, world_size: int) -> Subset:
    """Return the samples in the order in which ranks read them, where each has a block of its own."""
    blocks = torch.arange(len(data)).view(world_size, -1, batch // world_size)
    return Subset(data, blocks.transpose(0, 1).flatten().tolist())


def mean_of_shares(score, model, data: Dataset, world_size: int) -> float:
    """Return the mean of the scores that the ranks find, each on its share."""
    return sum(score(model, share(data, rank, world_size)) for rank in range(world_size)) / world_size


BATCH, RATE, SAMPLER, LOOP = "args.batch_size", "lr=args.lr", "sampler=order.tolist()", "in loader:"
LOADER, SCORE, LOSS = "DataLoader(train_set, ", "score(model, test_set)", "loss_on(model, validation_set)"
SHARED, GROWN, LONG = {BATCH: f"{BATCH} // WORLD"}, {BATCH: f"{BATCH} * WORLD"}, {RATE: f"{RATE} * WORLD"}
RANK_0 = SHARED | {SAMPLER: "sampler=order[::WORLD].tolist()"}

EVERYTHING = "every rank trained on all the samples. Give each its share; a DistributedSampler does that"
ALONE = "gradients were not averaged: rank 0 learned from its share alone. Wrap the model in DDP, and call the wrapper"
ONE_ORDER = "each epoch had the order of the first. Tell the sampler which epoch it is"
TWICE = "a DistributedSampler repeats samples until all shares have the same size, and those counted twice"
STEPS = {
    EVERYTHING: [SHARED],
    "the global batch has grown: each rank took --batch-size samples a step, and not its share of them": [GROWN],
    "each step was WORLD times as long. The global batch has not grown, so --lr stays; and gradients are averaged, not "
    "added up": [LONG],
    "that is lesson 4's recipe for a similar model: batch and learning rate grow with the ranks. Here it is to be the "
    "same model: --batch-size is that of all ranks together, and --lr stays": [GROWN | LONG],
}
MISTAKES = {
    "1_loop": STEPS | {
        ALONE: [SHARED | {LOADER: "DataLoader(share(train_set, 0, WORLD), "}],
        "the given script does not shuffle. A DistributedSampler does, unless it is told not to": [
            {LOOP: "in DataLoader(shuffled(train_set, 0), args.batch_size):"},
            {LOOP: "in DataLoader(shuffled(train_set, epoch), args.batch_size):"},
        ],
        "each rank took a block of the data, so that a step's batch is not the single card's. Let rank r take every "
        "WORLDth sample, from r on": [{LOADER: "DataLoader(in_blocks(train_set, args.batch_size, WORLD), "}],
    },
    "2_score": STEPS | {
        ALONE: [RANK_0],
        ONE_ORDER: [{"args.seed + epoch": "args.seed"}],
        "the given script shuffles in each epoch, and here nothing was shuffled": [{SAMPLER: "shuffle=False"}],
        "that is the score of rank 0's share. Add up what all ranks have right, then divide": [
            {SCORE: "score(model, share(test_set, 0, WORLD))"},
            {SCORE: "score(model, share(shuffled(test_set, 0), 0, WORLD))"},
            {SCORE: "score(model, share(test_set, 0, WORLD)) * len(range(0, len(test_set), WORLD)) / len(test_set)"},
        ],
        "that is the mean of the ranks' scores, and their shares differ in size. Add up what is right, then divide": [
            {SCORE: "mean_of_shares(score, model, test_set, WORLD)"},
        ],
        TWICE: [
            {SCORE: "score(model, padded(test_set, WORLD))"},
            {SCORE: "score(model, padded(shuffled(test_set, 0), WORLD))"},
            {SCORE: "score(model, padded(test_set, WORLD)) * len(padded(test_set, WORLD)) / len(test_set)"},
        ],
        "samples were left out so that all shares have the same size. Each is to count": [
            {SCORE: "score(model, cut(test_set, WORLD))"},
        ],
    },
    "3_early_stop": STEPS | {
        ALONE: [RANK_0],
        ONE_ORDER: [{"seed(epoch)": "seed(0)"}],
        "that is the loss on rank 0's share. Add up the losses of all samples on all ranks, then divide": [
            {LOSS: "loss_on(model, share(validation_set, 0, WORLD))"},
        ],
        "that is the mean of the ranks' losses, and their shares differ in size. Add up all losses, then divide": [
            {LOSS: "mean_of_shares(loss_on, model, validation_set, WORLD)"},
        ],
        TWICE: [{LOSS: "loss_on(model, padded(validation_set, WORLD))"}],
        "the last batch of an epoch is smaller, and the given script leaves it out": [{
            LOADER: "DataLoader(padded(Subset(train_set, order.tolist()), WORLD), ", SAMPLER: "shuffle=False",
            "drop_last=True": "drop_last=False",
        }],
    },
}  # fmt: skip
