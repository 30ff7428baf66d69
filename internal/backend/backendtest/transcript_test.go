package backendtest

import (
	"strings"
	"testing"
)

const session = `> {"id":1,"do":"hello","hello":{"protocol":1,"memory_bytes":4096}}
< {"id":1,"result":{"protocol":1,"device":"cpu","versions":{"a":"1"},"pid":77}}
> {"id":2,"do":"run","run":{"op":"scale","inputs":[{"name":"x","crc32":5}]}}
< {"id":2,"result":{"launches":[{"inputs":[5],"outputs":[{"name":"y","present":true}]}],"wall_ns":12}}
`

// A field that is renamed, missing, new, or has another value or place in the protocol shows; values that
// vary from run to run do not.
func TestAChangedFieldShows(t *testing.T) {
	want, err := plain(session)
	if err != nil {
		t.Fatal(err)
	}
	for change, shows := range map[[2]string]bool{
		{`"pid":77`, `"pid":78`}:                         false,
		{`"wall_ns":12`, `"wall_ns":99`}:                 false,
		{`{"a":"1"}`, `{"a":"2","b":"1"}`}:               false,
		{`"id":2,"do":"run"`, `"do":"run","id":2`}:       false, // the order of fields means nothing
		{`"pid":77`, `"pid":"77"`}:                       true,
		{`,"pid":77`, ``}:                                true,
		{`"wall_ns"`, `"wall"`}:                          true,
		{`"crc32":5`, `"crc32":6`}:                       true,
		{`"present":true`, `"present":false`}:            true,
		{`"name":"y"`, `"name":"y","rank":1`}:            true,
		{`"protocol":1,"device"`, `"device"`}:            true,
		{`> {"id":2,"do":"run"`, `> {"id":3,"do":"run"`}: true,
	} {
		changed := strings.Replace(session, change[0], change[1], 1)
		if changed == session {
			t.Fatalf("%q is not there", change[0])
		}
		got, err := plain(changed)
		if err != nil {
			t.Fatal(err)
		}
		if found := differences(want, got); (len(found) > 0) != shows {
			t.Errorf("%q for %q: %v, want it to show: %t", change[1], change[0], found, shows)
		}
	}
	lines := strings.SplitAfter(session, "\n")
	for _, cut := range []string{strings.Join(lines[:3], ""), session + lines[0]} {
		if got, err := plain(cut); err != nil || len(differences(want, got)) == 0 {
			t.Errorf("another number of lines does not show (%v)", err)
		}
	}
}
