"""The formulas of one training step, in plain NumPy: every formula of the course has its home here.

Modules follow the lessons; a backward function takes the upstream gradient and the forward's own
arrays. `published` is the calculation that lesson 18 audits.
"""

from byhand_course.reference.attention import (
    attend,
    attention,
    attention_backward,
    attention_head,
    attention_scores,
    attention_weights,
    causal_mask,
    leaks,
    masked_attention_head,
    permutation_gap,
    qkv,
    scale_scores,
    soft_lookup,
    worked_row,
)
from byhand_course.reference.block import (
    residual_backward,
    transformer_block,
    transformer_block_backward,
)
from byhand_course.reference.embedding import embed, embed_with_positions, embedding_backward
from byhand_course.reference.feed_forward import (
    feed_forward,
    feed_forward_backward,
    gelu,
    gelu_backward,
    gelu_exact,
    linear,
    linear_backward,
)
from byhand_course.reference.generation import generate, sample
from byhand_course.reference.gradient_check import numerical_gradient
from byhand_course.reference.layer_norm import layer_norm, layer_norm_backward
from byhand_course.reference.loss import cross_entropy, cross_entropy_backward
from byhand_course.reference.model import (
    COURSE_SIZES,
    backward,
    block_params,
    forward,
    init_params,
    init_state,
    parameter_count,
    train_step,
)
from byhand_course.reference.multi_head import (
    merge_heads,
    multi_head_attention,
    multi_head_attention_backward,
    split_heads,
)
from byhand_course.reference.optimizer import adamw_update
from byhand_course.reference.positions import sinusoidal_positions
from byhand_course.reference.projection import project, project_batch
from byhand_course.reference.published import (
    PUBLISHED_BLOCKS,
    PUBLISHED_TOKENS,
    gauss_group,
    output_projection_backward,
    published_backward,
    published_backward_to_attention,
    published_forward,
    published_params,
    published_step,
)
from byhand_course.reference.softmax import (
    entropy,
    softmax,
    softmax_backward,
    softmax_with_temperature,
)
from byhand_course.reference.tokens import (
    VOCABULARY,
    decode,
    encode,
    ids_of,
    learn_merges,
    merge_pair,
    one_hot,
)
from byhand_course.reference.vectors import cosine_similarity, dot, rank_by_similarity

__all__ = [
    "COURSE_SIZES",
    "PUBLISHED_BLOCKS",
    "PUBLISHED_TOKENS",
    "VOCABULARY",
    "adamw_update",
    "attend",
    "attention",
    "attention_backward",
    "attention_head",
    "attention_scores",
    "attention_weights",
    "backward",
    "block_params",
    "causal_mask",
    "cosine_similarity",
    "cross_entropy",
    "cross_entropy_backward",
    "decode",
    "dot",
    "embed",
    "embed_with_positions",
    "embedding_backward",
    "encode",
    "entropy",
    "feed_forward",
    "feed_forward_backward",
    "forward",
    "gauss_group",
    "gelu",
    "gelu_backward",
    "gelu_exact",
    "generate",
    "ids_of",
    "init_params",
    "init_state",
    "layer_norm",
    "layer_norm_backward",
    "leaks",
    "learn_merges",
    "linear",
    "linear_backward",
    "masked_attention_head",
    "merge_heads",
    "merge_pair",
    "multi_head_attention",
    "multi_head_attention_backward",
    "numerical_gradient",
    "one_hot",
    "output_projection_backward",
    "parameter_count",
    "permutation_gap",
    "project",
    "project_batch",
    "published_backward",
    "published_backward_to_attention",
    "published_forward",
    "published_params",
    "published_step",
    "qkv",
    "rank_by_similarity",
    "residual_backward",
    "sample",
    "scale_scores",
    "sinusoidal_positions",
    "soft_lookup",
    "softmax",
    "softmax_backward",
    "softmax_with_temperature",
    "split_heads",
    "train_step",
    "transformer_block",
    "transformer_block_backward",
    "worked_row",
]
