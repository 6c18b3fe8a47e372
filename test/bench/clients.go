package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

const (
	// clientCount is how many programs one cluster is for, and clientsAtOnce how many are asked for together.
	clientCount   = 1000
	clientsAtOnce = 8
	// clientsPatience bounds the wait for all of them.
	clientsPatience = 10 * time.Minute
	// restsFor is how long the operator has to write nothing of them.
	restsFor = 30 * time.Second
)

// A cluster may have 1,000 EtcdClients. etcd reads all users again for nearly each change of users and rights, so the last
// ones cost the most. The floor is what that takes without an operator: the same users, roles and permissions, made one
// by one in another cluster with authentication on. The target is no multiple of it: it is a time that a person waits.
var (
	clientsReady = figure{Name: "1,000 EtcdClients: created → all Ready", Unit: unitSeconds, Plus: 60}
	clientsRest  = figure{Name: "API writes while 1,000 EtcdClients rest", Unit: unitCount, Worst: true}
)

func measureClients(ctx context.Context, b *bench) error {
	return b.takeTurns(ctx, threeOnVolumes, func(ctx context.Context, t *trial, _ int) error {
		if _, err := t.create(ctx); err != nil {
			return err
		}
		if t.side == floor {
			return t.measureUsersByHand(ctx)
		}
		return t.measureClients(ctx)
	})
}

func (t *trial) measureClients(ctx context.Context) error {
	err := t.change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Auth = &v1alpha1.AuthSpec{Enabled: true} })
	if err != nil {
		return err
	}
	if err := t.calm(ctx); err != nil {
		return err
	}
	heard, err := t.kube.world.Client.Watch(ctx, &v1alpha1.EtcdClientList{}, ctrlclient.InNamespace(t.namespace))
	if err != nil {
		return fmt.Errorf("watching the EtcdClients of %s: %w", t.namespace, err)
	}
	defer heard.Stop()
	mark, err := t.kube.world.Mark(ctx)
	if err != nil {
		return err
	}
	began := t.start()
	asked, err := t.createClients(ctx, heard)
	if err != nil {
		return err
	}
	t.add(t.figure(clientsReady), ours, t.taken(began, time.Now(), fmt.Sprintf("all were asked for within %.1f s", asked.Seconds())))
	writes, err := t.kube.world.OperatorWrites(ctx, mark, t.namespace)
	if err != nil {
		return err
	}
	t.say("for them the operator wrote %s", strings.Join(breakdown(writes), ", "))
	return t.measureRest(ctx)
}

// createClients creates all EtcdClients and waits until each is Ready. It says how long the first part took.
func (t *trial) createClients(ctx context.Context, heard watch.Interface) (asked time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, clientsPatience)
	defer cancel()
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return untilGranted(ctx, heard, clientCount) })
	group.Go(func() error {
		creating, ctx := errgroup.WithContext(ctx)
		creating.SetLimit(clientsAtOnce)
		for i := range clientCount {
			creating.Go(func() error { return t.createClient(ctx, program(i)) })
		}
		err := creating.Wait()
		asked = time.Since(began)
		return err
	})
	return asked, group.Wait()
}

// program is the name of one, of its user and of the directory of its keys.
func program(i int) string { return fmt.Sprintf("app-%04d", i) }

func (t *trial) createClient(ctx context.Context, name string) error {
	err := t.kube.client.Create(ctx, &v1alpha1.EtcdClient{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: name},
		Spec: v1alpha1.EtcdClientSpec{ClusterRef: v1alpha1.ClientClusterReference{Name: t.name},
			Permissions: []v1alpha1.ClientPermission{{Prefix: name + "/", Access: v1alpha1.AccessReadWrite}}},
	})
	if err != nil {
		return fmt.Errorf("creating the EtcdClient %s: %w", name, err)
	}
	return nil
}

// untilGranted hears of EtcdClients until so many are Ready at once.
func untilGranted(ctx context.Context, heard watch.Interface, count int) error {
	granted := map[string]bool{}
	for len(granted) < count {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d EtcdClients are Ready: %w", len(granted), count, ctx.Err())
		case event, isOpen := <-heard.ResultChan():
			if !isOpen || event.Type == watch.Error {
				return fmt.Errorf("%d of %d EtcdClients were Ready when the watch ended: %v", len(granted), count, event.Object)
			}
			c, isClient := event.Object.(*v1alpha1.EtcdClient)
			switch {
			case !isClient:
			case meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ClientReady):
				granted[c.Name] = true
			default:
				delete(granted, c.Name)
			}
		}
	}
	return nil
}

// measureRest counts what the operator writes once all have what they ask for.
func (t *trial) measureRest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(quiet):
	}
	mark, err := t.kube.world.Mark(ctx)
	if err != nil {
		return err
	}
	before := t.start()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(restsFor):
	}
	writes, err := t.kube.world.OperatorWrites(ctx, mark, t.namespace)
	if err != nil {
		return err
	}
	note := strings.Join(append([]string{restsFor.String()}, breakdown(writes)...), ", ")
	t.add(t.figure(clientsRest), ours, sample{Value: float64(len(writes)), Note: note, Busy: t.taken(before, time.Now(), "").Busy})
	return nil
}

// measureUsersByHand takes the floor: what an administrator's program would do.
func (t *trial) measureUsersByHand(ctx context.Context) error {
	config, err := t.clientTLS(ctx)
	if err != nil {
		return err
	}
	etcd, err := client.Dial(client.Options{Endpoints: t.endpoints(), TLS: config, Connect: t.connect})
	if err != nil {
		return err
	}
	defer etcd.Close()
	if err := t.enableAuth(ctx, etcd); err != nil {
		return fmt.Errorf("turning on the authentication of the floor: %w", err)
	}
	if err := t.calm(ctx); err != nil {
		return err
	}
	began := t.start()
	for i := range clientCount {
		if err := addProgram(ctx, etcd, program(i)); err != nil {
			return fmt.Errorf("making the user %s of the floor: %w", program(i), err)
		}
	}
	t.add(t.figure(clientsReady), floor, t.taken(began, time.Now(), "their users and roles, one by one"))
	return nil
}

// enableAuth turns authentication on, and leaves this client all rights.
func (t *trial) enableAuth(ctx context.Context, etcd *clientv3.Client) error {
	for _, user := range []string{"root", resources.ClientUser(t.name)} {
		_, err := etcd.UserAddWithOptions(ctx, user, "", &clientv3.UserAddOptions{NoPassword: true})
		if err != nil {
			return err
		}
		if _, err := etcd.UserGrantRole(ctx, user, "root"); err != nil {
			return err
		}
	}
	_, err := etcd.AuthEnable(ctx)
	return err
}

// addProgram makes a role with one permission, and a user that has it.
func addProgram(ctx context.Context, etcd *clientv3.Client, name string) error {
	_, roleErr := etcd.RoleAdd(ctx, name)
	_, grantErr := etcd.RoleGrantPermission(ctx, name, name+"/", clientv3.GetPrefixRangeEnd(name+"/"), clientv3.PermissionType(clientv3.PermReadWrite))
	_, userErr := etcd.UserAddWithOptions(ctx, name, "", &clientv3.UserAddOptions{NoPassword: true})
	_, giveErr := etcd.UserGrantRole(ctx, name, name)
	return errors.Join(roleErr, grantErr, userErr, giveErr)
}
