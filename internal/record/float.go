package record

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Float is an fp64 number that survives JSON and SQL: NaN and infinities, which neither can carry, are the
// strings "nan", "inf" and "-inf" there. A nil *Float means that there is no number; a NaN is a number like
// any other.
type Float float64

// Class returns "finite", "nan", "inf" or "-inf". A column of its own stores it, because SQLite stores NaN as
// NULL.
func (f Float) Class() string {
	switch v := float64(f); {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return "finite"
}

// String returns the shortest text that reads back to the same bits (of a NaN: to a NaN).
func (f Float) String() string {
	if class := f.Class(); class != "finite" {
		return class
	}
	return strconv.FormatFloat(float64(f), 'g', -1, 64)
}

// MarshalJSON writes a number, or "nan", "inf", "-inf" as a string.
func (f Float) MarshalJSON() ([]byte, error) {
	if f.Class() != "finite" {
		return strconv.AppendQuote(nil, f.Class()), nil
	}
	if f == 0 && math.Signbit(float64(f)) {
		return []byte("-0.0"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads what MarshalJSON writes, and nothing else.
func (f *Float) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"nan"`:
		*f = Float(math.NaN())
	case `"inf"`:
		*f = Float(math.Inf(1))
	case `"-inf"`:
		*f = Float(math.Inf(-1))
	default:
		var v float64
		if err := json.Unmarshal(text, &v); err != nil || string(text) == "null" {
			return fmt.Errorf(`read number %s: want a number, "nan", "inf" or "-inf"`, text)
		}
		*f = Float(v)
	}
	return nil
}
