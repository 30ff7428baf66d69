package results

import (
	"context"
	"testing"
)

// TestListGetsItsFlags: the command hands its flags and the database to the function that runs it.
func TestListGetsItsFlags(t *testing.T) {
	db := "r.db"
	var got listOptions
	var of string
	cmd := listCommand(&db, func(_ context.Context, o *listOptions, db string) error {
		got, of = *o, db
		return nil
	})
	cmd.SetArgs([]string{"--op", "a,b", "--since", "2h", "--json"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if of != db || len(got.filter.Op) != 2 || got.since != "2h" || !got.asJSON {
		t.Errorf("it runs with %+v on %q", got, of)
	}
}
