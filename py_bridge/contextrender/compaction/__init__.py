"""Summaries of what is not shown: by a model through byLLM, or extracted by fixed rules without one (design §8).

`summarizer.Summarizer` is the seam; `byllm.ByLLM` and `extractive.Extractive` implement it. The originals stay.
"""
