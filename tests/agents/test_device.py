"""Devices other than the CPU, simulated on a machine that has none.

``Elsewhere`` holds an ordinary tensor and reports the device "meta". Under ``Accelerator``, tensors that are
created on that device or sent to it are of this class. It raises the errors of a GPU: for operations on
tensors of both devices (except single numbers), and for reading one as an array before it is sent back.
"""

from pathlib import Path
from typing import Any

import pytest
import torch as th
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from agents.config import make_config
from agents.learners.factory import make_model
from agents.learners.training_env import make_env
from agents.runs.checkpoints import load_checkpoint, save_checkpoint
from agents.runs.models import load_model, save_model

AWAY = th.device("meta")


class Elsewhere(th.Tensor):
    inner: th.Tensor
    is_meta = False  # with which load_state_dict would not bother

    @staticmethod
    def __new__(cls, inner: th.Tensor) -> "Elsewhere":
        made = th.Tensor._make_wrapper_subclass(
            cls, inner.shape, inner.stride(), inner.storage_offset(), dtype=inner.dtype, device=AWAY
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return on_device(func, args, kwargs or {})


def on_device(func: Any, args: Any, kwargs: Any) -> Any:
    """Run an operation on the device of its tensors, or on the requested one."""
    given: list[th.Tensor] = []
    tree_map(lambda x: given.append(x) if isinstance(x, th.Tensor) else None, (args, kwargs))
    away = [x for x in given if isinstance(x, Elsewhere)]
    here = [x for x in given if not isinstance(x, Elsewhere)]
    moves = func in (th.ops.aten._to_copy.default, th.ops.aten.copy_.default)
    if away and not moves and any(x.dim() for x in here):
        raise RuntimeError(f"{func}: tensors on {AWAY} and on {here[0].device}")
    target = kwargs.get("device")
    to = bool(away) if target is None else th.device(target) == AWAY
    if func is th.ops.aten.copy_.default:
        to = isinstance(args[0], Elsewhere)
    if target is not None:
        kwargs = {**kwargs, "device": th.device("cpu")}
    unwrapped = tree_map(lambda x: x.inner if isinstance(x, Elsewhere) else x, (args, kwargs))
    result = func(*unwrapped[0], **unwrapped[1])
    if func._schema.is_mutable and away:
        for before, after in zip(args, unwrapped[0], strict=False):
            if isinstance(before, Elsewhere) and result is after:
                return before
    return tree_map(lambda x: Elsewhere(x) if to and type(x) is th.Tensor else x, result)


class Accelerator(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return on_device(func, args, kwargs or {})


class Made(TorchFunctionMode):
    """Tensors from arrays and lists are made here and sent there."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (th.tensor, th.as_tensor) and kwargs.get("device") == AWAY:
            return func(*args, **{**kwargs, "device": "cpu"}).to(AWAY)
        if func is th.Tensor.numpy and kwargs.get("force"):
            return args[0].detach().cpu().numpy()
        return func(*args, **kwargs)


VALUES: dict[str, Any] = {
    "moves": "supermove", "total_steps": 512, "width": 8, "hidden": [8], "num_envs": 4, "n_steps": 32,
    "batch_size": 64, "n_epochs": 1, "threads": 1, "stall_limit": 10, "init_linear_temperature": 2.0,
}  # fmt: skip


@pytest.fixture
def accelerator() -> Any:
    """Another device; parameters that are sent to it stay the same objects, as an optimizer needs."""
    before = th.__future__.get_swap_module_params_on_conversion()
    th.__future__.set_swap_module_params_on_conversion(True)
    with Accelerator(), Made():
        yield
    th.__future__.set_swap_module_params_on_conversion(before)


def made(**values: Any) -> tuple[Any, Any, dict[str, Any]]:
    """A model on the other device, its configuration, and its game."""
    config = make_config({**VALUES, **values}, "test")
    config.device = str(AWAY)
    env = make_env(config)
    return make_model(config, env), config, env.game


def assert_away(model: Any) -> None:
    tensors = [*model.policy.state_dict().values(), *model.policy.parameters()]
    assert len(tensors) > 8 and all(isinstance(tensor.data, Elsewhere) for tensor in tensors)


NETWORKS = {
    "moves": {},
    "mlp": {"network": "mlp", "observation": "features", "init_linear_temperature": None},
    "pqn": {"learner": "pqn", "init_linear_temperature": None},
    "playouts": {"learner": "playouts", "num_playouts": 2},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_training_uses_the_device(name: str, tmp_path: Path, accelerator: None) -> None:
    """Rollouts, updates and checkpoints."""
    model, config, spec = made(**NETWORKS[name])
    assert_away(model)
    before = [tensor.cpu() for tensor in model.policy.parameters()]
    model.learn(128)
    assert_away(model)
    assert not all(th.equal(a, b.cpu()) for a, b in zip(before, model.policy.parameters(), strict=True))
    moments = model.policy.optimizer.state_dict()["state"]
    if name in ("pqn", "playouts"):  # the value in pqn, the average and the reference do not learn
        assert 0 < len(moments) < len(before)
    else:
        assert len(moments) == len(before)
    assert all(isinstance(state["exp_avg"], Elsewhere) for state in moments.values())
    progress = {"steps": 128, "seconds": 1.0, "games": 3}
    save_checkpoint(tmp_path / "checkpoint", model.policy, progress)
    again, *_ = made(**NETWORKS[name])
    assert load_checkpoint(tmp_path / "checkpoint", again.policy) == progress
    assert_away(again)
    for tensor, other in zip(model.policy.parameters(), again.policy.parameters(), strict=True):
        assert th.equal(tensor.cpu(), other.cpu())
    again.learn(128)
    # The model file can be loaded on a machine without this device.
    save_model(tmp_path, again.policy.network, config, steps=128, value=again.policy.value_net)
    player = load_model(tmp_path, spec)
    assert not any(isinstance(weights, Elsewhere) for weights in player.network.parameters())
