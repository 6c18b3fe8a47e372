package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// database is the largest file that a member has.
type database struct {
	Member string            `json:"member"`
	Size   resource.Quantity `json:"size"`
	InUse  resource.Quantity `json:"inUse"`
	Quota  resource.Quantity `json:"quota"`
}

func databaseOf(c *v1alpha1.EtcdCluster) *database {
	var most *database
	for _, m := range c.Status.Members {
		if m.DBSize != nil && m.DBSizeInUse != nil && (most == nil || m.DBSize.Cmp(most.Size) > 0) {
			most = &database{m.Name, *m.DBSize, *m.DBSizeInUse, quotaOf(c, m)}
		}
	}
	return most
}

// quotaOf is the quota of a member. An older operator leaves it out.
func quotaOf(c *v1alpha1.EtcdCluster, m v1alpha1.MemberStatus) resource.Quantity {
	if m.QuotaBackendBytes != nil {
		return *m.QuotaBackendBytes
	}
	return c.Spec.QuotaOrDefault()
}

func (p page) database() string {
	d := p.Database
	if d == nil {
		return ""
	}
	text := fmt.Sprintf("The largest file, of %s, takes %s of %s. %s are in use", d.Member, &d.Size, &d.Quota, &d.InUse)
	// The status follows the sizes by a tenth of the quota: less than that may be nothing.
	if unused := d.Size.Value() - d.InUse.Value(); unused >= d.Quota.Value()/10 {
		text += ": " + rounded(unused) + " can be reclaimed"
	}
	return text + "."
}

// mostLargest is how many prefixes of keys stand on the page. All are in the status of the EtcdBackup.
const mostLargest = 5

// largest says what filled the database when the last backup was made.
func (p page) largest() string {
	if p.Backup.Last == nil {
		return ""
	}
	all := p.Backup.Last.Largest
	lines := make([]string, min(len(all), mostLargest))
	for i, one := range all[:len(lines)] {
		takes := one.Prefix + " takes"
		if one.Prefix == "" {
			takes = "Keys without a / take"
		}
		lines[i] = fmt.Sprintf("%s %s (keys: %d, stored revisions: %d).", takes, rounded(one.Bytes), one.Keys,
			one.Revisions)
	}
	return strings.Join(lines, "\n")
}

// rounded is a size of two digits or more, in the largest unit that gives them.
func rounded(bytes int64) string {
	for unit := 30; unit > 0; unit -= 10 {
		if bytes >= 10<<unit {
			return resource.NewQuantity(bytes>>unit<<unit, resource.BinarySI).String()
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}
