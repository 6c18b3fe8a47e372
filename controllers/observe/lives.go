package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// lives tells what is of the incarnation that the birth record is of from what is of another one: of the next
// incarnation beside it, and of those that ended. Nobody of these is asked anything: an old member may still serve, and
// is a member of nothing.
type lives struct {
	birth    record.Birth
	byVolume map[string]bool // whether the name is of a former incarnation
	byPod    map[string]bool
}

func livesOf(birth record.Birth, g gathered) lives {
	l := lives{birth: birth, byVolume: map[string]bool{}, byPod: map[string]bool{}}
	for _, task := range g.tasks {
		if member, ok := resources.RestoredMember(task.Name); ok {
			l.byPod[member] = l.hasEnded(&task)
		}
	}
	for _, pod := range g.pods {
		l.byPod[pod.Name] = l.hasEnded(&pod)
	}
	for _, volume := range g.volumes {
		l.byVolume[volume.Name] = l.hasEnded(&volume)
	}
	return l
}

// hasEnded reports whether an object is of a former incarnation: the birth record says so, or what is written on the
// volume, which outlives the record.
func (l lives) hasEnded(object metav1.Object) bool {
	incarnation := object.GetLabels()[v1alpha1.LabelIncarnation]
	if incarnation == l.birth.Incarnation && incarnation != "" {
		return false
	}
	isPast := func(p record.Former) bool { return p.Incarnation == incarnation }
	return slices.ContainsFunc(l.birth.Former, isPast) || object.GetAnnotations()[v1alpha1.AnnotationSuperseded] != ""
}

func (l lives) isNext(name string) bool { return slices.Contains(l.birth.Next.Names, name) }

// isFormer goes by the volume, since a Pod may be made anew beside it, and without one by what is there.
func (l lives) isFormer(name string) bool {
	if l.isNext(name) {
		return false
	}
	if ended, ok := l.byVolume[name]; ok {
		return ended
	}
	return l.byPod[name]
}

// isOurs reports a name of the incarnation that the birth record is of.
func (l lives) isOurs(name string) bool { return !l.isNext(name) && !l.isFormer(name) }

// former are the names that may still run from a former incarnation. Once the next one serves nobody asks.
func (l lives) former() []string {
	if len(l.birth.Former) == 0 || l.birth.ClusterID != 0 {
		return nil
	}
	names := slices.Clone(l.birth.Former[len(l.birth.Former)-1].Voters)
	for _, named := range []map[string]bool{l.byVolume, l.byPod} {
		for name := range named {
			if l.isFormer(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// members are the Pods that may be asked.
func (g gathered) members(birth record.Birth) []corev1.Pod {
	l := livesOf(birth, g)
	return slices.DeleteFunc(slices.Clone(g.pods), func(pod corev1.Pod) bool { return !l.isOurs(pod.Name) })
}

// part divides replicas among the incarnations.
func (l lives) part(all []facts.Replica) (ours, coming []facts.Replica, former []facts.Incarnation) {
	for _, r := range all {
		switch {
		case l.isNext(r.Name):
			coming = append(coming, r)
		case l.isFormer(r.Name):
			former = addFormer(former, r)
		default:
			ours = append(ours, r)
		}
	}
	return ours, coming, former
}

// addFormer puts what is left of a member beside what is left of its incarnation.
func addFormer(all []facts.Incarnation, r facts.Replica) []facts.Incarnation {
	id := r.Incarnation()
	i := slices.IndexFunc(all, func(in facts.Incarnation) bool { return in.Birth.Incarnation == id })
	if i < 0 {
		i, all = len(all), append(all, facts.Incarnation{Birth: record.Birth{Incarnation: id}})
	}
	all[i].Members = append(all[i].Members, r)
	return all
}
