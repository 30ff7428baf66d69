package export

import (
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// Row is one record in one regime, flat: a record that was not timed has one row without times, one that was
// timed in several regimes has several. What is not known is nil. The tags name the columns.
type Row struct {
	ID           string    `parquet:"id"`
	Session      string    `parquet:"session"`
	StartedUTC   time.Time `parquet:"started_utc,timestamp(millisecond)"`
	Op           string    `parquet:"op,dict"`
	Pass         string    `parquet:"pass,dict"`
	DType        string    `parquet:"dtype,dict"`
	Dims         string    `parquet:"dims,dict"`       // "rows=8192 cols=4096"
	Attributes   string    `parquet:"attributes,dict"` // "eps=1e-05 causal=true"
	Layout       string    `parquet:"layout,dict"`
	Distribution string    `parquet:"distribution,dict"`
	Upstream     string    `parquet:"upstream,dict"` // "" for a forward
	Saved        string    `parquet:"saved,dict"`
	CaseKey      string    `parquet:"case,dict"`
	Seed         uint64    `parquet:"seed"`
	Impl         string    `parquet:"impl,dict"`
	Backend      string    `parquet:"backend,dict"`
	Variant      string    `parquet:"variant,dict"`
	Device       string    `parquet:"device,dict"`
	Source       string    `parquet:"source,dict"`
	Status       string    `parquet:"status,dict"`
	Weight       string    `parquet:"weight,dict"` // good, neutral or bad
	Contract     string    `parquet:"contract,dict"`
	Message      string    `parquet:"message"`
	ErrorMargin  *float64  `parquet:"headroom,optional"` // the least of all outputs; nil if one is wrong
	ULPMax       *float64  `parquet:"ulp_max,optional"`  // the largest of all outputs
	Wrong        int64     `parquet:"n_wrong"`           // elements of all outputs
	Compared     int64     `parquet:"n_compared"`
	Regime       string    `parquet:"regime,dict"` // "" where it was not timed
	TimingStatus string    `parquet:"timing_status,dict"`
	MedianNS     *float64  `parquet:"median_ns,optional"`
	LowNS        *float64  `parquet:"low_ns,optional"` // 95 % interval of the median
	HighNS       *float64  `parquet:"high_ns,optional"`
	Samples      int64     `parquet:"n_samples"`
	Bytes        int64     `parquet:"bytes"`
	FLOPs        int64     `parquet:"flops"`
	Roofline     *float64  `parquet:"roofline,optional"` // share of the ceilings' limit
	ClockMHz     *float64  `parquet:"clock_mhz,optional"`
}

// Rows returns the rows of records, in their order.
func Rows(records []record.Record) []Row {
	var all []Row
	for _, r := range records {
		row := rowOf(r)
		if len(r.Timings) == 0 {
			all = append(all, row)
		}
		for _, t := range r.Timings {
			timed := row
			timed.Regime, timed.TimingStatus, timed.Samples = t.Regime, t.Status.String(), int64(t.N)
			timed.MedianNS, timed.LowNS, timed.HighNS = &t.MedianNS, &t.LowNS, &t.HighNS
			timed.Bytes, timed.FLOPs = t.Bytes, t.FLOPs
			timed.Roofline, timed.ClockMHz = number(t.Roofline), number(t.ClockMHz)
			all = append(all, timed)
		}
	}
	return all
}

func rowOf(r record.Record) Row {
	row := Row{
		ID: r.ID, Session: r.Session, StartedUTC: r.Started.UTC(), Op: r.Case.Op, Pass: r.Case.Pass.String(),
		DType: r.Case.DType, Dims: dims(r.Case), Attributes: attributes(r.Case), Layout: r.Case.Layout,
		Distribution: r.Case.Distribution, Upstream: r.Case.Upstream, Saved: r.Case.Saved,
		CaseKey: r.Case.Key(), Seed: r.Seed,
		Impl: r.Impl, Backend: r.Backend, Variant: r.Variant, Device: r.Device,
		Source: r.Source,
		Status: r.Status.String(), Weight: r.Status.Weight().String(),
		Contract: r.Contract, Message: r.Message,
	}
	for _, v := range r.Outputs {
		row.Wrong += v.NWrong
		row.Compared += v.NCompared
		h, right := number(v.ErrorMargin), r.Status.Weight() != op.Bad
		if right && h != nil && (row.ErrorMargin == nil || *h < *row.ErrorMargin) {
			row.ErrorMargin = h
		}
		if u := number(v.ULPMax); u != nil && (row.ULPMax == nil || *u > *row.ULPMax) {
			row.ULPMax = u
		}
	}
	return row
}

func number(f *record.Float) *float64 {
	if f == nil {
		return nil
	}
	return new(float64(*f))
}

func dims(c op.Case) string {
	words := make([]string, len(c.Dims))
	for i, d := range record.DimMembers(c.Dims) {
		words[i] = d.Name + "=" + decimal(d.Value)
	}
	return strings.Join(words, " ")
}

func attributes(c op.Case) string {
	words := make([]string, len(c.Attrs))
	for i, a := range c.Attrs {
		words[i] = a.Name + "=" + a.Text
	}
	return strings.Join(words, " ")
}
