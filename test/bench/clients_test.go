package main

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func clientThatIs(name string, status metav1.ConditionStatus) *v1alpha1.EtcdClient {
	return &v1alpha1.EtcdClient{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.EtcdClientStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ClientReady, Status: status}}}}
}

func TestAllEtcdClientsAreReadyOnceEachIsAtTheSameTime(t *testing.T) {
	heard, done := watch.NewFake(), make(chan error)
	go func() { done <- untilGranted(t.Context(), heard, 2) }()
	heard.Add(&v1alpha1.EtcdClient{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	heard.Modify(clientThatIs("a", metav1.ConditionTrue))
	heard.Modify(clientThatIs("a", metav1.ConditionTrue))
	heard.Modify(clientThatIs("a", metav1.ConditionFalse))
	heard.Modify(clientThatIs("b", metav1.ConditionTrue))
	select {
	case err := <-done:
		t.Fatalf("it ends although one is not Ready any more: %v", err)
	default:
	}
	heard.Modify(clientThatIs("a", metav1.ConditionTrue))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAWatchOrATimeThatEndsSaysHowManyEtcdClientsWereReady(t *testing.T) {
	heard, done := watch.NewFake(), make(chan error)
	go func() { done <- untilGranted(t.Context(), heard, 2) }()
	heard.Modify(clientThatIs("a", metav1.ConditionTrue))
	heard.Stop()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "1 of 2") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if err := untilGranted(ctx, watch.NewFake(), 2); err == nil || !strings.Contains(err.Error(), "0 of 2") {
		t.Errorf("%v", err)
	}
}

func TestThousandEtcdClientsMayTakeAMinuteWhateverTheFloorIs(t *testing.T) {
	f := clientsReady
	f.Floor = samples(54)
	if f.Ours = samples(60); !f.isHit() {
		t.Errorf("%g of %g", f.value(), f.target())
	}
	if f.Ours = samples(60.1); f.isHit() {
		t.Errorf("%g of %g", f.value(), f.target())
	}
	f = clientsRest
	if f.Ours = samples(0, 1); f.isHit() {
		t.Errorf("one write at rest: %g of %g", f.value(), f.target())
	}
}
