"""The last batch is shorter on the last rank: predictions are padded to one length before they are gathered."""

import torch
import torch.distributed as dist


class Predictor:
    def __init__(self, width):
        dist.init_process_group("gloo")
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.model = torch.nn.Linear(width, 2)

    def predict(self, batch):
        return self.model(batch).argmax(1)

    def collect(self, predicted):
        lengths = [torch.zeros(1, dtype=torch.long) for _ in range(self.size)]
        dist.all_gather(lengths, torch.tensor([len(predicted)]))
        longest = int(max(lengths))
        padded = torch.cat([predicted, predicted.new_zeros(longest - len(predicted))])
        everyones = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(everyones, padded)
        return torch.cat([one[:length] for one, length in zip(everyones, lengths, strict=True)])


predictor = Predictor(3)
samples = torch.randn(8, 3)
samples = samples[:5] if predictor.rank == predictor.size - 1 else samples
for batch in samples.split(4):
    predictor.collect(predictor.predict(batch))
gives, gets = list(range(1, predictor.size + 1)), [predictor.rank + 1] * predictor.size
dist.all_to_all_single(torch.empty(sum(gets)), torch.ones(sum(gives)), gets, gives)
dist.all_reduce(torch.ones(2, 3) if predictor.rank else torch.ones(3, 2))
dist.destroy_process_group()
