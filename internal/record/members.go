package record

import (
	"bytes"
	"encoding/json"
	"fmt"

	"triad/internal/op"
)

// Member is one name and value of a JSON object whose order matters.
type Member[V any] struct {
	Name  string
	Value V
}

// Members is a JSON object that keeps its order: dims and attributes are in the order of the spec.
type Members[V any] []Member[V]

// MarshalJSON writes the members as an object, in order.
func (m Members[V]) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, x := range m {
		name, err := json.Marshal(x.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(x.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads an object and keeps its order; a name that occurs twice is an error.
func (m *Members[V]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("read members %.60s: want an object", text)
	}
	*m = Members[V]{}
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := name.(string)
		if seen[key] {
			return fmt.Errorf("read members: %q occurs twice", key)
		}
		seen[key] = true
		var value V
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("read member %q: %w", key, err)
		}
		*m = append(*m, Member[V]{key, value})
	}
	_, err := d.Token()
	return err
}

// DimMembers returns the dims of a case as a JSON object.
func DimMembers(dims op.Dims) Members[int64] {
	out := make(Members[int64], len(dims))
	for i, d := range dims {
		out[i] = Member[int64]{d.Name, d.Value}
	}
	return out
}

// AttrMembers returns the attributes of a case, in their canonical text, as a JSON object.
func AttrMembers(attrs op.Attrs) Members[string] {
	out := make(Members[string], len(attrs))
	for i, a := range attrs {
		out[i] = Member[string]{a.Name, a.Text}
	}
	return out
}
