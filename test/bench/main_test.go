package main

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryFigureIsMeasuredUnlessSomeAreNamed(t *testing.T) {
	all, err := parse(nil)
	if err != nil || !slices.Equal(all.groups, groupNames()) {
		t.Errorf("with no flags %v are measured: %v", all.groups, err)
	}
	some, err := parse([]string{"-figures", "roll,fleet"})
	if err != nil || !slices.Equal(some.groups, []string{"roll", "fleet"}) {
		t.Errorf("of two named, %v are measured: %v", some.groups, err)
	}
}

func TestAFigureThatThereIsNotIsRefusedWithThoseThatThereAre(t *testing.T) {
	_, err := parse([]string{"-figures", "roll,speed"})
	if err == nil || !strings.Contains(err.Error(), `"speed"`) || !strings.Contains(err.Error(), "eviction") {
		t.Errorf("got %v", err)
	}
}
