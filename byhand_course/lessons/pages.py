"""The worked pages by number: what notebooks link to, and what `worked` writes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WorkedPage:
    """One of the thirteen pages.

    Attributes:
        title: what it works out.
        slug: its title as it stands in the file's name.
        places: its pieces on the map of the training step, keys of `byhand.map.ROWS`.
        functions: names of the reference functions whose numbers it shows; exercises are found
            by these.
    """

    number: int
    title: str
    slug: str
    places: tuple[str, ...]
    functions: tuple[str, ...]

    @property
    def file(self) -> str:
        """Its file name."""
        return f"{self.number:02}-{self.slug}.html"


SUMMARY = "index.html"
WORKED_PAGES = (
    WorkedPage(
        1,
        "Tokens and embeddings",
        "tokens-and-embeddings",
        ("tokens", "positions"),
        ("one_hot", "embed", "embed_with_positions"),
    ),
    WorkedPage(2, "Queries, keys and values", "queries-keys-values", ("qkv",), ("project", "qkv")),
    WorkedPage(
        3,
        "Attention",
        "attention",
        ("scores", "mask", "softmax", "attention"),
        (
            "dot",
            "softmax",
            "attention_scores",
            "scale_scores",
            "causal_mask",
            "attention_weights",
            "attend",
            "masked_attention_head",
        ),
    ),
    WorkedPage(
        4,
        "Several heads",
        "multi-head",
        ("heads",),
        ("split_heads", "merge_heads", "multi_head_attention"),
    ),
    WorkedPage(5, "Feed-forward network", "feed-forward", ("block",), ("gelu", "feed_forward")),
    WorkedPage(
        6,
        "Layer norm and residuals",
        "layer-norm-and-residuals",
        ("block",),
        ("layer_norm", "transformer_block"),
    ),
    WorkedPage(7, "Loss", "loss", ("logits",), ("forward", "cross_entropy")),
    WorkedPage(
        8, "Gradient of the loss", "loss-gradient", ("loss-gradient",), ("cross_entropy_backward",)
    ),
    WorkedPage(
        9,
        "Gradients of the output layer",
        "output-layer-gradients",
        ("loss-gradient",),
        ("linear_backward",),
    ),
    WorkedPage(
        10,
        "Gradients of feed-forward and layer norm",
        "feed-forward-and-layer-norm-gradients",
        ("block-gradient",),
        ("layer_norm_backward", "gelu_backward", "feed_forward_backward", "residual_backward"),
    ),
    WorkedPage(
        11,
        "Gradients of attention",
        "attention-gradients",
        ("attention-gradient",),
        ("softmax_backward", "attention_backward", "multi_head_attention_backward"),
    ),
    WorkedPage(
        12,
        "Gradients of the embeddings",
        "embedding-gradients",
        ("embedding-gradient",),
        ("embedding_backward", "backward"),
    ),
    WorkedPage(13, "AdamW", "adamw", ("adamw",), ("adamw_update", "train_step")),
)
PAGE_NAMES = {page.file: f"{page.number} · {page.title}" for page in WORKED_PAGES} | {
    SUMMARY: "the whole training step"
}
