SELECT id, at, actor, action, object, grp, detail FROM audit
