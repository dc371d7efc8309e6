"""Adam (Kingma and Ba, 2015), without torch's optimizer classes: those import torch's compiler, 2 to 9 s."""

from collections.abc import Iterable
from typing import Any

import torch as th

from agents.networks.kernels import adam_step

BETAS = (0.9, 0.999)


class Adam:
    """Adam over some parameters, with the methods of ``torch.optim.Adam`` that learners and checkpoints use.

    Parameters
    ----------
    parameters
        The parameters to train.
    lr
        Step size; ``param_groups[0]["lr"]`` changes it.
    eps
        Added to the root of the second moment.
    """

    def __init__(self, parameters: Iterable[th.nn.Parameter], lr: float = 1e-3, eps: float = 1e-8) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": list(parameters), "lr": lr}]
        self.eps = eps
        self.state: dict[int, dict[str, th.Tensor]] = {}

    def zero_grad(self) -> None:
        """Clear the gradients."""
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    @th.no_grad()
    def step(self) -> None:
        """Update each parameter that has a gradient."""
        [group] = self.param_groups
        for index, parameter in enumerate(group["params"]):
            gradient = parameter.grad
            if gradient is None:
                continue
            if index not in self.state:
                self.state[index] = {
                    "step": th.tensor(0.0),
                    "exp_avg": th.zeros_like(parameter),
                    "exp_avg_sq": th.zeros_like(parameter),
                }
            moments = self.state[index]
            moments["step"] += 1
            steps = moments["step"].item()
            first, second = moments["exp_avg"], moments["exp_avg_sq"]
            size, correction = group["lr"] / (1 - BETAS[0] ** steps), 1 - BETAS[1] ** steps
            if (parameter.device.type, parameter.dtype) == ("cpu", th.float32) and parameter.is_contiguous():
                arrays = (t.contiguous().view(-1).numpy() for t in (gradient, first, second))
                adam_step(parameter.view(-1).numpy(), *arrays, *BETAS, size, correction, self.eps)
                continue
            first.lerp_(gradient, 1 - BETAS[0])
            second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
            root = (second / correction).sqrt_().add_(self.eps)
            parameter.addcdiv_(first, root, value=-size)

    def state_dict(self) -> dict[str, Any]:
        """The moments of each parameter, by its index: ``{"state": {0: {"exp_avg": ...}}}``."""
        return {"state": self.state}

    def load_state_dict(self, saved: dict[str, Any], strict: bool = True) -> None:
        """Load moments that :meth:`state_dict` returned."""
        parameters = self.param_groups[0]["params"]
        self.state = {
            int(index): {
                name: tensor.clone() if name == "step" else tensor.to(parameters[int(index)])
                for name, tensor in moments.items()
            }
            for index, moments in saved["state"].items()
        }
