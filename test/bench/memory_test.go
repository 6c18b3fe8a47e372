package main

import (
	"strings"
	"testing"
)

func TestSizesOfAProcessAreReadInMebibytes(t *testing.T) {
	sizes, err := readStatus(strings.NewReader("Name:\tmanager\nVmHWM:\t   65536 kB\nVmRSS:\t   61440 kB\nRssAnon:\t   24576 kB\nThreads:\t12\n"))
	if err != nil {
		t.Fatal(err)
	}
	if sizes["RssAnon"] != 24 || sizes["VmRSS"] != 60 || sizes["VmHWM"] != 64 || len(sizes) != 3 {
		t.Errorf("got %v", sizes)
	}
}

func TestAKernelThatDoesNotTellIsNoZero(t *testing.T) {
	if sizes, err := readStatus(strings.NewReader("VmRSS:\t   61440 kB\n")); err == nil {
		t.Errorf("got %v", sizes)
	}
}
