"""The models of make_archives.py, by name."""
import hub_models as hub
import own_models as own

MODELS = {f.__name__: f for f in (
    hub.gpt2, hub.gpt2_dropout, hub.gpt2_evaluation, hub.llama, hub.qwen2, hub.mistral, hub.bert, hub.vit, hub.lora,
    own.mlp, own.dlrm, own.lstm, own.gru, own.mixer, own.moe, own.text_classifier, own.einsum, own.dynamic, own.dynamic_batch,
    own.dynamic_rows, own.lstm_time_major, own.encoder_time_major,
    own.batch_norms, own.buffers, own.classifier, own.regression, own.detector, own.tagger)}
