package observe

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// countingReader holds Secrets, and counts how often it is asked.
type countingReader struct {
	client.Reader
	secrets map[types.NamespacedName]string
	foreign bool // they are somebody else's
	leaving bool // they are being deleted
	reads   int
}

func (r *countingReader) Get(_ context.Context, key types.NamespacedName, object client.Object,
	_ ...client.GetOption) error {
	r.reads++
	value, ok := r.secrets[key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	secret := object.(*corev1.Secret)
	secret.ObjectMeta = metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name,
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}}}
	if !r.foreign {
		secret.Labels = map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}
	}
	if r.leaving {
		secret.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	secret.Data = map[string][]byte{"value": []byte(value)}
	return nil
}

func TestSecretCache(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "demo-ca"}
	for _, row := range []struct {
		name    string
		between func(*SecretCache, *time.Time)
		fresh   bool
	}{
		{"believes what it read a moment ago", func(*SecretCache, *time.Time) {}, false},
		{"believes it to the end of its incarnation", func(_ *SecretCache, now *time.Time) {
			*now = now.Add(secretLifetime)
		}, false},
		{"reads anew after that", func(_ *SecretCache, now *time.Time) {
			*now = now.Add(secretLifetime + time.Second)
		}, true},
		{"reads anew what it was told to forget", func(c *SecretCache, _ *time.Time) { c.Forget(key) }, true},
		{"reads anew what is of a cluster that it was told to forget", func(c *SecretCache, _ *time.Time) {
			c.ForgetCluster(types.NamespacedName{Namespace: "shop", Name: "demo"})
		}, true},
		{"forgets nothing of a cluster of the same name elsewhere", func(c *SecretCache, _ *time.Time) {
			c.ForgetCluster(types.NamespacedName{Namespace: "other", Name: "demo"})
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			reader := &countingReader{secrets: map[types.NamespacedName]string{key: "old"}}
			cache := NewSecretCache(reader, func() time.Time { return now })
			if _, err := cache.Get(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			reader.secrets[key] = "new"
			row.between(cache, &now)
			secret, err := cache.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]string{true: "new", false: "old"}[row.fresh]; string(secret.Data["value"]) != want {
				t.Errorf("got the %s one", secret.Data["value"])
			}
			if secret.ManagedFields != nil {
				t.Error("it keeps what nobody reads")
			}
		})
	}
}

func TestThatASecretIsAbsentIsNeverRemembered(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "demo-ca"}
	reader := &countingReader{secrets: map[types.NamespacedName]string{}}
	cache := NewSecretCache(reader, time.Now)
	if _, err := cache.Get(t.Context(), key); !apierrors.IsNotFound(err) {
		t.Fatalf("the error is %v", err)
	}
	reader.secrets[key] = "there"
	if _, err := cache.Get(t.Context(), key); err != nil {
		t.Errorf("it is there now: %v", err)
	}
}

func TestThatNoneIsLeftIsRememberedForThoseAloneWhoAskForWhatIsLeft(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	key := types.NamespacedName{Namespace: "shop", Name: "demo-3-tls"}
	reader := &countingReader{secrets: map[types.NamespacedName]string{}}
	cache := NewSecretCache(reader, func() time.Time { return now })
	for range 3 {
		if _, err := cache.GetLeft(t.Context(), key); !apierrors.IsNotFound(err) {
			t.Fatalf("the error is %v", err)
		}
	}
	if reader.reads != 1 {
		t.Errorf("three looks cost %d reads", reader.reads)
	}
	reader.secrets[key] = "there"
	if _, err := cache.Get(t.Context(), key); err != nil {
		t.Errorf("it is there now: %v", err)
	}
	if _, err := cache.GetLeft(t.Context(), key); err != nil {
		t.Errorf("it was read meanwhile: %v", err)
	}
	delete(reader.secrets, key)
	now = now.Add(secretLifetime + time.Second)
	_, _ = cache.GetLeft(t.Context(), key)
	reader.secrets[key] = "made by another replica"
	now = now.Add(secretLifetime + time.Second)
	if _, err := cache.GetLeft(t.Context(), key); err != nil {
		t.Errorf("after a while it is not read anew: %v", err)
	}
}

func TestASecretThatIsInTheWayIsNeverRemembered(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "demo-ca"}
	for name, reader := range map[string]*countingReader{
		"somebody else's": {foreign: true},
		"being deleted":   {leaving: true},
	} {
		reader.secrets = map[types.NamespacedName]string{key: "in the way"}
		cache := NewSecretCache(reader, time.Now)
		if _, err := cache.Get(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		delete(reader.secrets, key)
		if _, err := cache.Get(t.Context(), key); !apierrors.IsNotFound(err) {
			t.Errorf("%s: it is gone, and the answer is %v", name, err)
		}
	}
}

func TestAFailedHandshakeHasTheSecretsOfMembersReadAnewAsWell(t *testing.T) {
	reader := &countingReader{secrets: map[types.NamespacedName]string{}}
	cache := NewSecretCache(reader, func() time.Time { return time.Unix(1, 0) })
	cluster := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo"}}
	for _, name := range []string{"demo-operator-tls", "demo-1-tls"} {
		key := types.NamespacedName{Namespace: "shop", Name: name}
		reader.secrets[key] = "old"
		if _, err := cache.Get(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		reader.secrets[key] = "new"
		NewPodDialer(nil, cache).Distrust(cluster)
		secret, err := cache.Get(t.Context(), key)
		if err != nil || string(secret.Data["value"]) != "new" {
			t.Errorf("%s holds %q, %v", name, secret.Data["value"], err)
		}
	}
}
