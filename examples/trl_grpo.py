"""Train a language model with TRL's GRPO: the model calls the tool ``move``, and the game is the reward.

Every row of the data set is a deal, so the rollouts of a group play the same game. Without ``--model``, a
tiny network with random weights shows that the parts fit together; it learns nothing.

    pip install "trl>=1.16"
    python examples/trl_grpo.py --model Qwen/Qwen3-4B --steps 500 --tokens 16384
"""

from dataclasses import dataclass
from typing import Any

import torch
import tyro
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

from solitaire_env.benchmark import SPLITS
from solitaire_env.text import SolitaireTool

PROMPT = "Play this game to its end."


@dataclass
class Args:
    """Train by the cards that go home."""

    model: str | None = None
    """A model that calls tools, by name or folder."""
    game: str = "busy-aces"
    """The game."""
    steps: int = 1
    """Number of updates."""
    tokens: int = 64
    """Maximum length of a game in tokens, with the answers of the tool."""


def tiny_model() -> tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast]:
    """A network with random weights, and a tokenizer whose tokens are bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({byte: number for number, byte in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.add_tokens(["<|im_start|>", "<tool_call>", "</tool_call>"])
    tokenizer.chat_template = qwen3_chat_template
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, head_dim=16,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return Qwen3ForCausalLM(config), tokenizer


def make_trainer(a: Args, **arguments: Any) -> GRPOTrainer:
    """The trainer; ``arguments`` are further ones of GRPOConfig."""
    model, tokenizer = (a.model, None) if a.model else tiny_model()
    prompt = [{"role": "user", "content": PROMPT}]
    deals = SPLITS["train-1k"].deals
    return GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        args=GRPOConfig(
            max_steps=a.steps,
            max_completion_length=a.tokens,
            logging_steps=1,
            report_to="none",
            bf16=torch.cuda.is_available(),
            **arguments,
        ),
        train_dataset=Dataset.from_list([{"prompt": prompt, "game": a.game, "deal": deal} for deal in deals]),
        environment_factory=SolitaireTool,
    )


if __name__ == "__main__":
    make_trainer(tyro.cli(Args), output_dir="runs/trl").train()
