module sextant/tests/interop/lidia

go 1.24.6

require github.com/grafana/pyroscope/lidia v0.0.2
