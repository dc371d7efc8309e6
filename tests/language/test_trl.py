"""TRL's trainer plays games by tool calls, and rewards the cards that go home."""

from pathlib import Path

import pytest
import torch
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM
from transformers.utils import get_json_schema
from trl_grpo import Args, make_trainer

from solitaire_env.text import SolitaireTool, TextGame

pytestmark = pytest.mark.filterwarnings("ignore")  # those of transformers


def test_the_schema_of_the_tool_says_what_it_does() -> None:
    schema = get_json_schema(SolitaireTool().move)["function"]
    assert schema["description"] == "Play a move of the solitaire game."
    assert schema["parameters"]["required"] == ["action"]
    assert schema["parameters"]["properties"]["action"]["type"] == "string"
    assert "such as draw or t3>f" in schema["parameters"]["properties"]["action"]["description"]


def always_calls(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, move: str) -> None:
    """Give a model weights with which it answers every prompt by a call of the tool with one move."""
    call = f'<tool_call>\n{{"name": "move", "arguments": {{"action": "{move}"}}}}\n</tool_call>'
    tokenizer.add_tokens([call])
    model.resize_token_embeddings(len(tokenizer))
    newline = tokenizer.encode("\n")[0]  # the last token of a prompt
    number = tokenizer.convert_tokens_to_ids(call)
    layer = model.model.layers[0]
    with torch.no_grad():
        tokens = torch.nn.init.normal_(model.model.embed_tokens.weight)
        for weight in (layer.self_attn.o_proj.weight, layer.mlp.down_proj.weight, model.lm_head.weight):
            weight.zero_()  # the last token alone decides on the next
        model.lm_head.weight[number] = 2 * tokens[newline]
        model.lm_head.weight[tokenizer.eos_token_id] = 2 * tokens[number]


def test_an_update_plays_games_by_tool_calls(tmp_path: Path) -> None:
    trainer = make_trainer(
        Args(tokens=2000),
        output_dir=str(tmp_path),
        save_strategy="no",
        per_device_train_batch_size=2,
        num_generations=2,
        max_tool_calling_iterations=1,
    )
    game = TextGame("busy-aces")
    for number, deal in enumerate(trainer.train_dataset["deal"]):
        game.reset(deal=deal)
        if "t1>f" in game.legal():
            trainer.train_dataset = trainer.train_dataset.select([number])
            break
    always_calls(trainer.model, trainer.processing_class, "t1>f")
    trainer.train()
    log = trainer.state.log_history[0]
    assert (log["tools/call_frequency"], log["tools/failure_frequency"]) == (1, 0)
    assert log["reward"] == pytest.approx(1 / 104)
    game.step("t1>f")
    played = trainer.environments[0]
    assert played.move("pass") == game.step("pass")[0]
