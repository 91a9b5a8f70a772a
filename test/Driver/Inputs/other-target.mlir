pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"count", threads = 1, cpu = "abacus", features = "">}
