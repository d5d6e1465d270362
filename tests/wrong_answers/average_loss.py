def mean_of_means(means, sizes):
    """that is the mean of means"""
    return sum(means) / len(means)


def means_by_samples(means, sizes):
    """that divides a sum of means by a number of samples"""
    return sum(means) / sum(sizes)


def not_divided(means, sizes):
    """that is the sum over all samples: how many are there?"""
    return sum(mean * size for mean, size in zip(means, sizes, strict=True))


def divided_by_batches(means, sizes):
    """that is the sum over all samples, divided by the number of batches"""
    return sum(mean * size for mean, size in zip(means, sizes, strict=True)) / len(means)
