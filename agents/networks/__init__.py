"""The torch modules, and the SB3 policy around them."""
