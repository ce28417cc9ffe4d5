module sextant/tests/interop/symblib

go 1.24.6

require go.opentelemetry.io/ebpf-profiler v0.0.202633
