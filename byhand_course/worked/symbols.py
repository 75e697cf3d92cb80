"""The letters that formulas use for the values of the trace."""

SYMBOLS = {
    "token_embedding": "E",
    "position_embedding": "P",
    "token_vectors": r"E_{\text{ids}}",
    "position_vectors": r"P_{0,1,\ldots}",
    "X": "X",
    "normed_1": "N_1",
    "normed_2": "N_2",
    "normed_f": "N_f",
    "Q_heads": "Q^{(h)}",
    "K_heads": "K^{(h)}",
    "V_heads": "V^{(h)}",
    "scores": "S",
    "scaled": r"S^{\text{sc}}",
    "masked": r"S^{\text{vis}}",
    "weights": "A",
    "out_heads": "O^{(h)}",
    "concat": "C",
    "attended": "M",
    "middle": "X'",
    "wide": "U",
    "hidden": "G",
    "fed": "F",
    "out": "X''",
    "logits": "Z",
    "probabilities": "p",
    "is_target": "y",
    "loss": "L",
    "slope": r"\text{gelu}'(U)",
    "jacobian": "J",
    "ln1_gamma": r"\gamma_1",
    "ln1_beta": r"\beta_1",
    "ln2_gamma": r"\gamma_2",
    "ln2_beta": r"\beta_2",
    "lnf_gamma": r"\gamma_f",
    "lnf_beta": r"\beta_f",
    "ln1_xhat": r"\hat{X}",
    "ln2_xhat": r"\hat{X}'",
    "lnf_xhat": r"\hat{X}''",
    "exponentials": r"e^{S^{\text{vis}} - \max}",
    "dout": r"\mathrm{d}X''",
    "dmiddle": r"\mathrm{d}X'",
}
LETTERS = ("Q", "K", "V", "W_q", "W_k", "W_v", "W_o", "W_1", "W_2", "W_out", "b_1", "b_2")


def symbol(name: str) -> str | None:
    """The LaTeX of a value's letter, or None if formulas have none for it."""
    if name in SYMBOLS:
        return SYMBOLS[name]
    if name in LETTERS:
        letter, _, index = name.partition("_")
        return rf"{letter}_{{\text{{{index}}}}}" if index else letter
    if name.startswith("d") and symbol(name[1:]):
        return rf"\mathrm{{d}}{symbol(name[1:])}"
    return None
