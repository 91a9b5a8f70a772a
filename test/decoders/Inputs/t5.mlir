// T5's encoder with a head of tokens: attention with a bias that depends on how far apart two positions are. transformers' T5EncoderModel has these
// parameters; make_fixtures.py says the sizes. %buckets has, for each query and key, the row of the table of biases.
!ids = tensor<4x12xi32>
!x = tensor<4x12x16xf64>
!q = tensor<4x12x24xf64>
!split = tensor<4x12x4x6xf64>
!heads = tensor<4x4x12x6xf64>
!c = tensor<16xf64>
!table = tensor<31x16xf64>
!w_in = tensor<24x16xf64>
!w_out = tensor<16x24xf64>
!buckets = tensor<12x12xi32>

func.func @t5(%tokens: !ids {pp.input = "tokens"}, %targets: !ids {pp.input = "targets"}) -> tensor<f64> {
  %shared = pp.param "shared.weight" {init = #pp.init<normal, 0.0, 1.0>} : !table
  %e = pp.embedding %shared, %tokens : !table, !ids
  %biases = pp.param "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight" {init = #pp.init<normal, 0.0, 1.0>, shard = #pp.sharding<[{}, {tp}]>} : tensor<8x4xf64>
  %buckets = pp.constant dense<BUCKETS> : !buckets
  %looked_up = pp.embedding %biases, %buckets : tensor<8x4xf64>, !buckets
  %by_head = pp.transpose %looked_up [2, 0, 1] : tensor<12x12x4xf64>
  %bias = pp.reshape %by_head : tensor<4x12x12xf64> to tensor<1x4x12x12xf64>
  %stream = pp.repeat 2 iter (%x = %e) -> (!x) {
    %w_n = pp.param "encoder.block.{i}.layer.0.layer_norm.weight" {init = #pp.init<ones>, no_decay} : !c
    %n = pp.rms_norm %x, %w_n {eps = 1.0e-6 : f64} : !x, !c
    %w_q = pp.param "encoder.block.{i}.layer.0.SelfAttention.q.weight" {init = #pp.init<normal, 0.0, 1.0>, shard = #pp.sharding<[{tp}, {}]>} : !w_in
    %w_k = pp.param "encoder.block.{i}.layer.0.SelfAttention.k.weight" {init = #pp.init<normal, 0.0, 1.0>, shard = #pp.sharding<[{tp}, {}]>} : !w_in
    %w_v = pp.param "encoder.block.{i}.layer.0.SelfAttention.v.weight" {init = #pp.init<normal, 0.0, 1.0>, shard = #pp.sharding<[{tp}, {}]>} : !w_in
    %w_o = pp.param "encoder.block.{i}.layer.0.SelfAttention.o.weight" {init = #pp.init<normal, 0.0, 1.0>, shard = #pp.sharding<[{}, {tp}]>} : !w_out
    %q = pp.matmul %n, %w_q {transpose_rhs} : !x, !w_in
    %k = pp.matmul %n, %w_k {transpose_rhs} : !x, !w_in
    %v = pp.matmul %n, %w_v {transpose_rhs} : !x, !w_in
    %q_s = pp.reshape %q : !q to !split
    %k_s = pp.reshape %k : !q to !split
    %v_s = pp.reshape %v : !q to !split
    %q_h = pp.transpose %q_s [0, 2, 1, 3] : !split
    %k_h = pp.transpose %k_s [0, 2, 1, 3] : !split
    %v_h = pp.transpose %v_s [0, 2, 1, 3] : !split
    %a, %lse = pp.attention %q_h, %k_h, %v_h bias %bias {scale = 1.0 : f64} : !heads, !heads, !heads, tensor<1x4x12x12xf64>
    %a_t = pp.transpose %a [0, 2, 1, 3] : !heads
    %a_m = pp.reshape %a_t : !split to !q
    %o = pp.matmul %a_m, %w_o {transpose_rhs} : !q, !w_out
    %h = pp.add %x, %o : !x, !x
    %w_m = pp.param "encoder.block.{i}.layer.1.layer_norm.weight" {init = #pp.init<ones>, no_decay} : !c
    %m = pp.rms_norm %h, %w_m {eps = 1.0e-6 : f64} : !x, !c
    %w_i = pp.param "encoder.block.{i}.layer.1.DenseReluDense.wi.weight" {init = #pp.init<normal, 0.0, 1.0>, shard = #pp.sharding<[{tp}, {}]>} : !w_in
    %w_f = pp.param "encoder.block.{i}.layer.1.DenseReluDense.wo.weight" {init = #pp.init<normal, 0.0, 1.0>, shard = #pp.sharding<[{}, {tp}]>} : !w_out
    %i = pp.matmul %m, %w_i {transpose_rhs} : !x, !w_in
    %r = pp.relu %i : !q
    %f = pp.matmul %r, %w_f {transpose_rhs} : !q, !w_out
    %y = pp.add %h, %f : !x, !x
    pp.yield %y : !x
  }
  %w_last = pp.param "encoder.final_layer_norm.weight" {init = #pp.init<ones>, no_decay} : !c
  %last = pp.rms_norm %stream, %w_last {eps = 1.0e-6 : f64} : !x, !c
  %logits = pp.matmul %last, %shared {transpose_rhs} : !x, !table
  %loss = pp.cross_entropy %logits, %targets : tensor<4x12x31xf64>, !ids
  return %loss : tensor<f64>
}
