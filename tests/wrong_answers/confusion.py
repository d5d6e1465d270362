import torch
import torch.distributed as dist


def counted(labels, answers, classes):
    """helper"""
    return torch.bincount(labels * classes + answers, minlength=classes**2).view(classes, classes)


def share(samples):
    """helper"""
    return range(dist.get_rank(), samples, dist.get_world_size())


def summed(table):
    """helper"""
    dist.all_reduce(table)
    return table


def of_its_own_share(predict, images, labels, classes):
    """that is the table of the rank's own share"""
    return counted(labels[share(len(labels))], predict(images[share(len(labels))]), classes)


def each_tests_all(predict, images, labels, classes):
    """to test is most of the work"""
    return summed(counted(labels, predict(images), classes) * (dist.get_rank() == 0))


def padded(predict, images, labels, classes):
    """a sample that comes twice counts twice"""
    longest = -(-len(labels) // dist.get_world_size()) * dist.get_world_size()
    mine = [place % len(labels) for place in share(longest)]
    return summed(counted(labels[mine], predict(images[mine]), classes))


def dropped(predict, images, labels, classes):
    """some samples were left out"""
    mine = share(len(labels) // dist.get_world_size() * dist.get_world_size())
    return summed(counted(labels[mine], predict(images[mine]), classes))


def all_test_and_add(predict, images, labels, classes):
    """2 ranks: each rank tested all samples"""
    return summed(counted(labels, predict(images), classes))


def on_rank_0_alone(predict, images, labels, classes):
    """2 ranks: rank 0 has the table of all samples"""
    table = counted(labels[share(len(labels))], predict(images[share(len(labels))]), classes)
    dist.reduce(table, dst=0)
    return table


def turned(predict, images, labels, classes):
    """2 ranks: the label goes down"""
    return summed(counted(predict(images[share(len(labels))]), labels[share(len(labels))], classes))


def averaged(predict, images, labels, classes):
    """2 ranks: counts are added, and not averaged"""
    mine = share(len(labels))
    return summed(counted(labels[mine], predict(images[mine]), classes)) / dist.get_world_size()


def rates(predict, images, labels, classes):
    """2 ranks: counts are asked for"""
    mine = share(len(labels))
    return summed(counted(labels[mine], predict(images[mine]), classes)) / len(labels)


def in_float32(predict, images, labels, classes):
    """2 ranks: uint8 begins again"""
    mine = share(len(labels))
    return summed(counted(labels[mine], predict(images[mine]), classes).float()).long()


def cell_by_cell(predict, images, labels, classes):
    """2 ranks: a tensor of all counts"""
    mine = share(len(labels))
    table = counted(labels[mine], predict(images[mine]), classes)
    return torch.stack([summed(line) for line in table])


def without_minlength(predict, images, labels, classes):
    """2 ranks: bincount ends at the largest number"""
    mine = share(len(labels))
    table = torch.bincount(labels[mine] * classes + predict(images[mine]))
    return summed(table.view(classes, classes))


def chunks(predict, images, labels, classes):
    """2 ranks: with fewer samples than ranks some shares are empty, and torch.chunk"""
    mine = torch.arange(len(labels)).chunk(dist.get_world_size())[dist.get_rank()]
    return summed(counted(labels[mine], predict(images[mine]), classes))


def answers_added(predict, images, labels, classes):
    """2 ranks: with more samples the table stays as small"""
    answers = torch.zeros(len(labels), dtype=torch.long)
    answers[share(len(labels))] = predict(images[share(len(labels))])
    return counted(labels, summed(answers), classes)


def set_and_not_counted(predict, images, labels, classes):
    """2 ranks: `table[labels, answers] += 1` adds 1 once"""
    table = torch.zeros(classes, classes)
    table[labels[share(len(labels))], predict(images[share(len(labels))])] += 1
    return summed(table)


def of_ten_classes(predict, images, labels, classes):
    """2 ranks: the table has a line for each label"""
    return summed(counted(labels[share(len(labels))], predict(images[share(len(labels))]), 10))


def one_image(predict, images, labels, classes):
    """2 ranks: `predict` takes a batch"""
    return summed(counted(labels[share(len(labels))], torch.stack([predict(image) for image in images]), classes))


def empty_share_left_out(predict, images, labels, classes):
    """stuck: 2 ranks: a collective call comes back when all ranks have made it"""
    mine = share(len(labels))
    if not mine:
        return torch.zeros(classes, classes)
    return summed(counted(labels[mine], predict(images[mine]), classes))
