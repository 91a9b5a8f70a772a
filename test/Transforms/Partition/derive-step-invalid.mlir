// RUN: %ppopt opt %s --pp-derive-step --split-input-file --verify-diagnostics

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks"}
// expected-error @+1 {{takes #pp.role<saved, "s0.v7">, which nothing before it makes}}
pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<saved, "s0.v7">}) {
  pp.return
}
