package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

func TestAStepThatHangsInTheKernelIsLeftAMomentAfterItsBytesStoodStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung, stalled := make(chan struct{}), make(chan error, 1)
		defer close(hung)
		want := errors.New("the store took no byte")
		time.AfterFunc(time.Minute, func() { stalled <- want })
		began := time.Now()
		_, err := within(context.Background(), stalled, func() (any, error) {
			<-hung
			return nil, nil
		})
		if !errors.Is(err, want) || time.Since(began) != time.Minute+stopGrace {
			t.Errorf("left after %s with %v", time.Since(began), err)
		}
	})
}

func TestAStepThatEndsByItselfWhenItsBytesStandStillSaysWhyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalled, own := make(chan error, 1), errors.New("the store took no byte; what was there is removed")
		_, err := within(context.Background(), stalled, func() (any, error) {
			stalled <- errors.New("the store took no byte")
			time.Sleep(stopGrace / 2)
			return nil, own
		})
		if !errors.Is(err, own) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheReasonOfAFailureThatCannotBeShownStays(t *testing.T) {
	var stdout bytes.Buffer
	report(&stdout, &options{}, failed{Reason: backup.ReasonStoreFailed, Message: strings.Repeat("\x01", maxMessage)})
	var f failed
	must(t, json.Unmarshal(stdout.Bytes(), &f))
	if f.Reason != backup.ReasonStoreFailed || f.Message == "" || stdout.Len() > maxTermination {
		t.Errorf("got %s", stdout.String())
	}
}
