// A small GPT on bytes, written by hand: two blocks of one function, RMS norm, a
// head of its own. `ppopt model gpt` writes GPT-2's architecture at any size.
!ids = tensor<8x64xi32>
!x = tensor<8x64x64xf32>
!x4 = tensor<8x64x256xf32>
!split = tensor<8x64x4x16xf32>
!heads = tensor<8x4x64x16xf32>
!c = tensor<64xf32>
!w = tensor<64x64xf32>
!w_up = tensor<64x256xf32>
!w_down = tensor<256x64xf32>
!table = tensor<256x64xf32>

// [batch, position, channel] to [batch, head, position, channel of the head]
func.func private @split_heads(%x: !x) -> !heads {
  %s = pp.reshape %x : !x to !split
  %h = pp.transpose %s [0, 2, 1, 3] : !split
  return %h : !heads
}

func.func private @block(%x: !x, %g1: !c, %wq: !w, %wk: !w, %wv: !w, %wo: !w,
                         %g2: !c, %up: !w_up, %down: !w_down) -> !x {
  %n = pp.rms_norm %x, %g1 : !x, !c
  %mq = pp.matmul %n, %wq : !x, !w
  %mk = pp.matmul %n, %wk : !x, !w
  %mv = pp.matmul %n, %wv : !x, !w
  %q = call @split_heads(%mq) : (!x) -> !heads
  %k = call @split_heads(%mk) : (!x) -> !heads
  %v = call @split_heads(%mv) : (!x) -> !heads
  %a, %lse = pp.attention %q, %k, %v {causal} : !heads, !heads, !heads
  %at = pp.transpose %a [0, 2, 1, 3] : !heads
  %am = pp.reshape %at : !split to !x
  %o = pp.matmul %am, %wo : !x, !w
  %h = pp.add %x, %o : !x, !x

  %n2 = pp.rms_norm %h, %g2 : !x, !c
  %u = pp.matmul %n2, %up : !x, !w_up
  %s = pp.silu %u : !x4
  %d = pp.matmul %s, %down : !x4, !w_down
  %y = pp.add %h, %d : !x, !x
  return %y : !x
}

func.func @gpt(%tokens: !ids {pp.input = "tokens"},
               %targets: !ids {pp.input = "targets", pp.shift = 1 : i64}) -> tensor<f32> {
  %wte = pp.param "wte" {init = #pp.init<normal, 0.0, 0.02>} : !table
  %wpe = pp.param "wpe" {init = #pp.init<normal, 0.0, 0.02>} : !w
  %e = pp.embedding %wte, %tokens : !table, !ids
  %x0 = pp.add %e, %wpe : !x, !w

  %g10 = pp.param "h.0.norm_1" {init = #pp.init<ones>, no_decay} : !c
  %wq0 = pp.param "h.0.q" {init = #pp.init<normal, 0.0, 0.02>} : !w
  %wk0 = pp.param "h.0.k" {init = #pp.init<normal, 0.0, 0.02>} : !w
  %wv0 = pp.param "h.0.v" {init = #pp.init<normal, 0.0, 0.02>} : !w
  %wo0 = pp.param "h.0.o" {init = #pp.init<normal, 0.0, 0.01>} : !w
  %g20 = pp.param "h.0.norm_2" {init = #pp.init<ones>, no_decay} : !c
  %up0 = pp.param "h.0.up" {init = #pp.init<normal, 0.0, 0.02>} : !w_up
  %down0 = pp.param "h.0.down" {init = #pp.init<normal, 0.0, 0.01>} : !w_down
  %x1 = call @block(%x0, %g10, %wq0, %wk0, %wv0, %wo0, %g20, %up0, %down0)
      : (!x, !c, !w, !w, !w, !w, !c, !w_up, !w_down) -> !x

  %g11 = pp.param "h.1.norm_1" {init = #pp.init<ones>, no_decay} : !c
  %wq1 = pp.param "h.1.q" {init = #pp.init<normal, 0.0, 0.02>} : !w
  %wk1 = pp.param "h.1.k" {init = #pp.init<normal, 0.0, 0.02>} : !w
  %wv1 = pp.param "h.1.v" {init = #pp.init<normal, 0.0, 0.02>} : !w
  %wo1 = pp.param "h.1.o" {init = #pp.init<normal, 0.0, 0.01>} : !w
  %g21 = pp.param "h.1.norm_2" {init = #pp.init<ones>, no_decay} : !c
  %up1 = pp.param "h.1.up" {init = #pp.init<normal, 0.0, 0.02>} : !w_up
  %down1 = pp.param "h.1.down" {init = #pp.init<normal, 0.0, 0.01>} : !w_down
  %x2 = call @block(%x1, %g11, %wq1, %wk1, %wv1, %wo1, %g21, %up1, %down1)
      : (!x, !c, !w, !w, !w, !w, !c, !w_up, !w_down) -> !x

  %g = pp.param "norm" {init = #pp.init<ones>, no_decay} : !c
  %head = pp.param "head" {init = #pp.init<normal, 0.0, 0.02>} : tensor<64x256xf32>
  %last = pp.rms_norm %x2, %g : !x, !c
  %logits = pp.matmul %last, %head : !x, tensor<64x256xf32>
  %loss = pp.cross_entropy %logits, %targets : tensor<8x64x256xf32>, !ids
  return %loss : tensor<f32>
}
