// Package export writes records in the formats of results export: JSON lines, Markdown, flat tables as CSV
// and Parquet, times as the text of Go's benchmarks, which benchstat reads, and traces of FlashInfer-Bench.
package export
