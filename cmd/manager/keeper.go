package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// noMetrics is the address under which controller-runtime serves no metrics.
const noMetrics = "0"

// keeper has the leader look after one thing that others rely on, for as long as it leads.
type keeper struct {
	keep  func(context.Context) error // puts the thing right, and does nothing where it is right
	fails string                      // what it means that this fails
}

// addKeepers has the leader look after the CAs by which others know what this operator serves.
func addKeepers(mgr manager.Manager, config *rest.Config, o options, forMetrics, forWebhook *servingCertificate) error {
	var keepers []keeper
	if forMetrics != nil && o.metricsSecure && o.metricsAddress != noMetrics {
		keepers = append(keepers, keeper{keep: forMetrics.keep,
			fails: "The operator could not look after the CA of its metrics. Without it they cannot be read."})
	}
	if o.webhook != "" {
		trust, err := newWebhookTrust(config, forWebhook, o.webhook)
		if err != nil {
			return err
		}
		keepers = append(keepers, keeper{keep: trust.keep,
			fails: "The API server cannot ask this operator about objects, and stores them unseen."})
	}
	for _, k := range keepers {
		if err := mgr.Add(k); err != nil {
			return fmt.Errorf("adding what the leader looks after: %w", err)
		}
	}
	return nil
}

// Start looks at once, and then again and again.
func (k keeper) Start(ctx context.Context) error {
	for {
		again := caAgain
		if err := k.keep(ctx); err != nil && ctx.Err() == nil {
			again = caRetry
			ctrl.Log.Error(err, k.fails+" The operator tries again.", "after", again.String())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(again):
		}
	}
}

// NeedLeaderElection says that one replica does this.
func (keeper) NeedLeaderElection() bool { return true }
