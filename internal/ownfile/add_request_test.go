package ownfile

import (
	"reflect"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
)

// What a request names.
func TestParseRequest(t *testing.T) {
	for text, want := range map[string]binding.Request{
		"a/b.cu": {Path: "a/b.cu"},
		"b.cu:k<float, 256>@backward": {
			Path: "b.cu", Function: "k", Arguments: []string{"float", "256"},
			Pass: op.Backward,
		},
		"m@x/b.py:solve": {Path: "m@x/b.py", Function: "solve"},
	} {
		if got, err := ParseRequest(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"b.cu@sideways", "b.cpp", ""} {
		if got, err := ParseRequest(text); err == nil {
			t.Errorf("%s was read as %+v", text, got)
		}
	}
}
