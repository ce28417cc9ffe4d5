module sextant/bench/reference

go 1.24.6

require github.com/grafana/pyroscope/lidia v0.0.2
