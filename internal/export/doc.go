// Package export writes records in formats of other tools: flat tables as CSV and Parquet, and times as the
// text of Go's benchmarks, which benchstat reads.
package export
