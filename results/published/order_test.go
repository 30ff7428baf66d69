package main

import "testing"

// Two layouts of one shape have the same title: they come in the order in which they were recorded.
func TestLayoutsOfOneShapeInOrder(t *testing.T) {
	first := made("1", "1", "cuda/vec", 1000, 1980, "cold")
	second := made("2", "1", "cuda/vec", 900, 1980, "cold")
	second.Case = "another layout"
	for range 50 {
		if all := groups([]record{second, first}); len(all) != 2 || all[0].rows[0].id != "1" {
			t.Fatalf("groups: %+v", all)
		}
	}
}
