"""Our Adam takes the same steps as torch's."""

import torch as th

from agents.networks.adam import Adam


def test_adam_takes_the_steps_of_torch() -> None:
    """Also with a changing rate, a parameter without gradient, and after loading its state."""
    th.manual_seed(0)
    mine = [th.nn.Parameter(th.randn(3, 4)), th.nn.Parameter(th.randn(5)), th.nn.Parameter(th.randn(2))]
    others = [th.nn.Parameter(weights.detach().clone()) for weights in mine]
    adam, judge = Adam(mine, 0.01, eps=1e-5), th.optim.Adam(others, 0.01, eps=1e-5)
    for step in range(20):
        if step == 10:
            saved = adam.state_dict()
            adam = Adam(mine, 0.01, eps=1e-5)
            adam.load_state_dict(saved)
        for group in (adam.param_groups[0], judge.param_groups[0]):
            group["lr"] = 0.01 / (1 + step)
        adam.zero_grad()
        assert all(weights.grad is None for weights in mine)
        for weights, other in zip(mine[:2], others[:2], strict=True):
            weights.grad = th.randn_like(weights)
            other.grad = weights.grad.clone()
        adam.step()
        judge.step()
        for weights, other in zip(mine, others, strict=True):
            th.testing.assert_close(weights, other)
