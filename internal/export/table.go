package export

import (
	"encoding/csv"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"triad/internal/harmless"
	"triad/internal/record"
)

// CSV writes rows as in RFC 4180, with a header. What is not known is empty; NaN and infinities are NaN, +Inf
// and -Inf.
func CSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	typ := reflect.TypeFor[Row]()
	line := make([]string, typ.NumField())
	for i := range line {
		line[i], _, _ = strings.Cut(typ.Field(i).Tag.Get("parquet"), ",")
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for _, row := range rows {
		value := reflect.ValueOf(row)
		for i := range line {
			line[i] = cell(value.Field(i).Interface())
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// cell formats a value of a row so that it reads back to the same bits.
func cell(v any) string {
	switch v := v.(type) {
	case string:
		return harmless.Cell(v)
	case int64:
		return decimal(v)
	case uint64:
		return strconv.FormatUint(v, 10)
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.Format(record.TimeFormat)
	case *float64:
		if v != nil {
			return strconv.FormatFloat(*v, 'g', -1, 64)
		}
	}
	return ""
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// Parquet writes rows as one Parquet file, compressed with zstd.
func Parquet(w io.Writer, rows []Row) error {
	out := parquet.NewGenericWriter[Row](w, parquet.Compression(&parquet.Zstd))
	if _, err := out.Write(rows); err != nil {
		return err
	}
	return out.Close()
}
