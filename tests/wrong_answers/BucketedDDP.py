import torch
import torch.distributed as dist
from torch import nn


class Right(nn.Module):
    """helper"""

    order, wait = -1, False

    def __init__(self, model, bucket_bytes):
        super().__init__()
        self.module, self.sent, self.buckets = model, [], []
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, src=0)
        for parameter in list(model.parameters())[:: self.order]:
            if parameter.requires_grad:
                if not self.fits(parameter, bucket_bytes):
                    self.buckets.append([])
                self.buckets[-1].append(parameter)
                parameter.register_post_accumulate_grad_hook(self.ready)

    def fits(self, parameter, bucket_bytes):
        return self.buckets and sum(p.nbytes for p in [*self.buckets[-1], parameter]) <= bucket_bytes

    def ready(self, parameter):
        parameter.is_ready = True
        for bucket in self.buckets:
            if any(p is parameter for p in bucket) and all(hasattr(p, "is_ready") for p in bucket):
                self.send(bucket)

    def send(self, bucket):
        flat = torch.cat([p.grad.flatten() for p in bucket])
        handle = dist.all_reduce(flat, async_op=not self.wait)
        self.sent.append((bucket, flat, handle))

    def forward(self, inputs):
        return self.module(inputs)

    def finish(self):
        for bucket, flat, handle in self.sent:
            if handle:
                handle.wait()
            averages = (flat / dist.get_world_size()).split([p.numel() for p in bucket])
            for parameter, average in zip(bucket, averages, strict=True):
                parameter.grad = average.view_as(parameter)
                del parameter.is_ready
        self.sent = []


class EachAlone(Right):
    """each gradient went alone"""

    def fits(self, parameter, bucket_bytes):
        return False


class OneForAll(Right):
    """all gradients went together"""

    def fits(self, parameter, bucket_bytes):
        return self.buckets


class FirstToLast(Right):
    """are the parameters taken from the last to the first"""

    order = 1


class BackwardWaits(Right):
    """`async_op=True` gives a handle at once"""

    wait = True


class WaitsInTheHook(Right):
    """`async_op=True` gives a handle at once"""

    def send(self, bucket):
        super().send(bucket)
        self.sent[-1][-1].wait()


class NeverWaits(Right):
    """with `async_op=True` the numbers are there once `wait()` of the handle has come back"""

    def finish(self):
        self.sent = [(bucket, flat, None) for bucket, flat, _ in self.sent]
        super().finish()


class WaitsForTheLast(NeverWaits):
    """with `async_op=True` the numbers are there once `wait()` of the handle has come back"""

    def finish(self):
        self.sent[-1][-1].wait()
        super().finish()


class NeverFull(Right):
    """a bucket may be filled to its last byte"""

    def fits(self, parameter, bucket_bytes):
        return super().fits(parameter, bucket_bytes - 1)


class CountsOn(Right):
    """a bucket that opens has the bytes of its own parameters only"""

    def fits(self, parameter, bucket_bytes):
        return self.buckets and sum(p.nbytes for b in [*self.buckets, [parameter]] for p in b) <= bucket_bytes


class AnyWithRoom(Right):
    """only one bucket is open: those before it take no more"""

    def fits(self, parameter, bucket_bytes):
        for place, bucket in enumerate(self.buckets):
            if sum(p.nbytes for p in [*bucket, parameter]) <= bucket_bytes:
                self.buckets.append(self.buckets.pop(place))
                return True
        return False


class AllAtTheEnd(Right):
    """a bucket can leave as soon as its own gradients are ready"""

    def ready(self, parameter):
        parameter.is_ready = True

    def finish(self):
        for bucket in self.buckets:
            self.send(bucket)
        super().finish()


class SynchronousAtTheEnd(AllAtTheEnd):
    """a bucket can leave as soon as its own gradients are ready"""

    wait = True


class FirstStepOnly(Right):
    """the step before was right"""

    finished = False

    def ready(self, parameter):
        if not self.finished:
            super().ready(parameter)

    def finish(self):
        super().finish()
        self.finished = True


class NeverPutBack(Right):
    """after backward each rank still has the gradient of its own samples"""

    def finish(self):
        own = [(parameter, parameter.grad) for bucket in self.buckets for parameter in bucket]
        super().finish()
        for parameter, gradient in own:
            parameter.grad = gradient


class Summed(Right):
    """that is the sum over ranks"""

    def finish(self):
        for _, flat, handle in self.sent:
            handle.wait()
            flat *= dist.get_world_size()
        super().finish()


class TakenApartBackwards(Right):
    """the numbers are right, but in each other's places"""

    def finish(self):
        self.sent = [(bucket[::-1], flat, handle) for bucket, flat, handle in self.sent]
        super().finish()


class Misspelt(nn.Module):
    """`finish()` is called after each backward"""

    def __init__(self, model, bucket_bytes):
        super().__init__()
        self.right = Right(model, bucket_bytes)

    def forward(self, inputs):
        return self.right(inputs)

    def finsh(self):
        self.right.finish()
