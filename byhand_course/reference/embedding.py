"""Look-up of token and position vectors, forward and backward.

Sizes: ids of shape (..., T), T tokens in each sequence; vectors of d_model features.
Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.4, with learned positions as in GPT-2
(Radford et al. 2019); derived on worked pages 1 and 12.
"""

import numpy as np


def embed(ids, table):
    """Look up one row of the table for each id.

    Args:
        ids: (...) integers from 0 to n - 1.
        table: (n, d_model) vectors, one a row.

    Returns:
        (..., d_model); equal ids get equal vectors.
    """
    return table[ids]


def embed_with_positions(ids, token_embedding, position_embedding):
    """Add what each token is to where it stands.

    Args:
        ids: (..., T) token ids, T at most max_len.
        token_embedding: (vocab_size, d_model).
        position_embedding: (max_len, d_model).

    Returns:
        (..., T, d_model).
    """
    positions = np.arange(np.shape(ids)[-1])  # 0 to T - 1, the same in every sequence
    return embed(ids, token_embedding) + embed(positions, position_embedding)


def embedding_backward(dX, ids, vocab_size, max_len):
    """Carry dX, (..., T, d_model), back to the two tables that it was looked up in.

    Args:
        dX: (..., T, d_model) gradient of embed_with_positions' answer.
        ids: (..., T) token ids.
        vocab_size, max_len: the number of rows of each table.

    Returns:
        dtoken_embedding (vocab_size, d_model), dposition_embedding (max_len, d_model); a row
        that was not looked up has gradient 0.
    """
    T, d_model = dX.shape[-2:]
    dtoken_embedding = np.zeros((vocab_size, d_model), dtype=dX.dtype)
    np.add.at(dtoken_embedding, ids, dX)  # a repeated id collects all its gradients
    dposition_embedding = np.zeros((max_len, d_model), dtype=dX.dtype)
    dposition_embedding[:T] = dX.reshape(-1, T, d_model).sum(axis=0)
    return dtoken_embedding, dposition_embedding
