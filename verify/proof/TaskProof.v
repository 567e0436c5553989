(** What `Task.v` says of the parties of a task, in every state that they reach. *)

Require Import NArith Lia Bool Common Task.
Open Scope N_scope.

Section Proof.
  Variables (quarter ref_limit : N) (had_handle : bool).
  Hypothesis some_wakes : 1 <= quarter.
  Notation limit := (limit quarter).
  Notation step := (step quarter ref_limit had_handle).
  Notation at_least := (at_least quarter).
  Notation knows_handle := (knows_handle had_handle).
  Notation reachable := (reachable (start had_handle) step).

  Opaque N.mul N.add N.sub.

  (** * What holds in every state *)

  Definition holds_on h := match h with Held => true | _ => false end.
  Definition completed j := match j with Completed => true | _ => false end.

  (** A runnable exists, so the task has wake-ups and has not ended. *)
  Definition runs t := completed (join t) = false /\ finished (the_word t) = false /\
    1 <= wakes (the_word t) /\ orphan t = false.

  Definition is_idle t := let w := the_word t in
    completed (join t) = false /\ finished w = false /\ wakes w = 0 /\ cancelled w = false /\
    panicked w = false /\ owed t = false.

  (** The handle is the finisher, or there is none any more. *)
  Definition is_over t := let w := the_word t in
    1 <= wakes w /\ orphan t = false /\
    (finished w = true -> unreachable w = false /\ holds_on (the_handle t) = false) /\
    (finished w = false -> completed (join t) = true /\ holds_on (the_handle t) = true).

  Definition agree_runner t := let w := the_word t in
    match the_runner t with
    | None_queued => in_poll t = 0 /\ (is_idle t /\ orphan t = unreachable w \/ is_over t)
    | Queued | Cancels => runs t /\ panicked w = false /\ in_poll t = 0
    | Polls seen _ h => runs t /\ panicked w = false /\ knows_handle h t /\ 1 <= seen /\
      at_least seen t /\ (owed t = true \/ cancelled w = true -> at_least (seen + 1) t)
    | Ends h p => runs t /\ panicked w = p /\ knows_handle h t /\ in_poll t = 0
    | Revives => is_idle t /\ unreachable w = true /\ orphan t = false /\ in_poll t = 0
    | Finishes => runs t /\ holds_on (the_handle t) = false /\ in_poll t = 0
    end.

  Definition agree t := let w := the_word t in
    if freed t then
      wakers t = 0 /\ busy t = 0 /\ in_poll t = 0 /\ the_handle t = Away /\
      the_runner t = None_queued /\ orphan t = false
    else
      refs w = wakers t + busy t /\ handle w = held (the_handle t) /\
      match join t with
      | Open => holds_on (the_handle t) = true \/ held (the_handle t) = false /\ had_handle = false
      | Given_up => holds_on (the_handle t) = false
      | Completed => holds_on (the_handle t) = true \/ held (the_handle t) = false
      end /\ agree_runner t.

  (** Nobody makes a step on a task that is freed: all that could is gone. *)
  Lemma not_freed : forall t l t', agree t -> step t l t' -> freed t = false.
  Proof.
    intros t l t' A S. destruct (freed t) eqn:F; [exfalso | reflexivity].
    unfold agree in A. rewrite F in A. destruct A as (K & B & I & H & R & O).
    destruct S; unfold makes_wakers, has_future in *; rewrite ?R, ?H, ?K, ?B, ?I, ?F in *;
      intuition (discriminate || lia || congruence).
  Qed.

  (** Decides a condition by its parts. *)
  Ltac decide_bool b := lazymatch b with
    | ?x && _ => decide_bool x | negb ?x => decide_bool x | eqb ?x _ => decide_bool x
    | ?x =? ?y => destruct (N.eqb_spec x y) | ?x <=? ?y => destruct (N.leb_spec x y)
    | _ => destruct b eqn:?
    end.

  (** What the step does, decided by cases. *)
  Ltac decide_step := unfold full, wakes_up, leaves_one, gets_busy, follow, wake_by_value,
    drop_waker, abort, cancel, detach, may_cancel, finish_add, is_last, waker_left, handle_left,
    left_alone, idle, woken, take_back, add_ref, add_wake, revive, unreachable; simpl;
    repeat (match goal with |- context [if ?b then _ else _] =>
      lazymatch b with context [if _ then _ else _] => fail | _ => decide_bool b end end; simpl).

  (** All that is known of a state, in single facts. *)
  Ltac open := unfold agree, agree_runner, is_idle, is_over, runs, may_see, makes_wakers, is_last,
    unreachable, Task.knows_handle, Task.at_least, Task.limit in *; repeat (simpl in *; facts).

  (** The fields of a state that makes a step, which is not freed. *)
  Ltac fields A S := lazymatch type of A with agree ?t =>
    assert (freed t = false /\ refs (the_word t) = wakers t + busy t /\
      handle (the_word t) = held (the_handle t)) as (? & ? & ?)
      by (pose proof (not_freed _ _ _ A S) as F; unfold agree in A; rewrite F in A; tauto);
    destruct t as [[hw c f p rf wk] j h r k b i o fr ow]; simpl in * |-; subst end.

  (** Decides what [intuition] does not: counters against 0, flags, and who has the handle. *)
  Ltac finish := repeat match goal with
    | |- ?h = Away => is_var h; destruct h; simpl in *
    | |- holds_on ?h = false => is_var h; destruct h; simpl in *
    | |- match ?j with Open => _ | _ => _ end => destruct j
    | H : ?b = true \/ _ -> _ |- _ => is_var b; destruct b
    | H : context [eqb (held ?h) _] |- _ => destruct (held h) eqn:?; simpl in *
    | |- context [?a =? ?b] => destruct (N.eqb_spec a b)
    | H : context [?a =? ?b] |- _ => destruct (N.eqb_spec a b)
    | |- context [negb (held ?h)] => destruct (held h) eqn:?
    | H : context [negb (held ?h)] |- _ => destruct (held h) eqn:?
    end; rewrite ?orb_false_r; simpl in *; intuition (congruence || lia).

  (** A step that changes only counters, or lets the handle leave, while others are left. *)
  Definition quiet t t' := let (w, w') := (the_word t, the_word t') in
    freed t = false /\ freed t' = false /\ join t' = join t /\ the_runner t' = the_runner t /\
    orphan t' = orphan t /\ in_poll t' = in_poll t /\ finished w' = finished w /\
    panicked w' = panicked w /\ refs w' = wakers t' + busy t' /\ handle w' = held (the_handle t') /\
    holds_on (the_handle t') = holds_on (the_handle t) /\
    (held (the_handle t') = held (the_handle t) \/ held (the_handle t') = false) /\
    (cancelled w' = cancelled w \/ wakes w < wakes w') /\
    (owed t' = owed t \/ wakes w < wakes w') /\
    (unreachable w' = unreachable w \/ finished w = false /\ 1 <= wakes w) /\
    (wakes w <= wakes w' \/ limit - 1 <= wakes w') /\ (wakes w = 0 -> wakes w' = 0).

  Lemma others_are_left : forall t t', agree t -> quiet t t' -> agree t'.
  Proof.
    intros [[hw c f p rf wk] j h r k b i o fr ow]
      [[hw' c' f' p' rf' wk'] j' h' r' k' b' i' o' fr' ow'].
    unfold quiet. simpl. intros A (-> & -> & -> & -> & -> & -> & -> & -> & -> & -> &
      Holds & Left & C & Ow & U & W & Z). open. repeat split.
    - destruct j; intuition congruence.
    - destruct r; open; repeat split; auto; try solve [intuition (congruence || lia)];
        destruct Left as [E | E], C as [-> | C], Ow as [-> | Ow]; rewrite E in *;
        intuition (congruence || lia).
  Qed.

  (** Without wake-ups or after the end, while a party besides the runner is left. *)
  Lemma no_runnable : forall t, agree t -> freed t = false -> unreachable (the_word t) = false ->
    finished (the_word t) = true \/ wakes (the_word t) = 0 -> the_runner t = None_queued.
  Proof.
    intros [w j h r k b i o fr ow] A F U Z. open.
    destruct r; open; try reflexivity; exfalso; intuition (congruence || lia).
  Qed.

  Lemma holds : forall t, reachable t -> agree t.
  Proof.
    intros t R. induction R as [| t l t' _ A S].
    { unfold start. open. destruct had_handle; repeat split; auto; lia. }
    fields A S. destruct S; decide_step.
    all: try (match goal with |- agree (Build_task _ _ _ ?r _ _ _ _ false _) => is_var r end;
      apply (others_are_left _ _ A); unfold quiet, unreachable; simpl; repeat split; auto;
      solve [finish]).
    (* What is left has a runner of its own, or makes one where there is none. *)
    all: try (assert (r = None_queued) as -> by
      (apply (no_runnable _ A eq_refl); unfold unreachable; simpl; auto; finish)).
    all: subst; open; try (destruct r; open; try discriminate).
    all: repeat split; auto; finish.
  Qed.

  (** * What the file promises, which `docs/proof.md` says in words *)

  Theorem a_freed_task_is_not_touched : forall t l t',
    reachable t -> step t l t' -> freed t = false.
  Proof. intros t l t' R. exact (not_freed t l t' (holds t R)). Qed.

  Ltac state t A := destruct t as [[hw c f p rf wk] j h r k b i o fr ow]; simpl in *; subst; open.

  Theorem a_runnable_exists_while_there_are_wake_ups : forall t,
    reachable t -> freed t = false ->
    join t <> Completed -> finished (the_word t) = false -> the_runner t <> Finishes ->
    (wakes (the_word t) = 0 <-> the_runner t = None_queued \/ the_runner t = Revives).
  Proof.
    intros t R F J E N. apply holds in R. state t R.
    destruct r; open; split; intros; auto; destruct j; intuition (congruence || lia).
  Qed.

  Theorem no_wake_up_is_lost : forall t,
    reachable t -> freed t = false ->
    join t <> Completed -> finished (the_word t) = false -> the_runner t = None_queued ->
    owed t = false.
  Proof. intros t R F J E N. apply holds in R. state t R. destruct j; intuition congruence. Qed.

  Theorem the_last_party_frees : forall t,
    reachable t -> wakers t = 0 -> busy t = 0 -> the_handle t = Away ->
    the_runner t = None_queued -> orphan t = false -> freed t = true.
  Proof.
    intros t R K B H N O. apply holds in R. destruct (freed t) eqn:F; [reflexivity | exfalso].
    state t R. destruct f; finish.
  Qed.

  Theorem a_wake_up_that_schedules_finds_no_runnable : forall t t',
    reachable t -> step t Schedule t' -> the_runner t = None_queued.
  Proof.
    intros t t' R S. apply holds in R as A. fields A S.
    remember Schedule as l eqn:L. revert L. destruct S; decide_step; try discriminate; intros _;
      try solve [apply (no_runnable _ A eq_refl); unfold unreachable; simpl; auto; finish].
    subst. open. lia.
  Qed.

  (** The counters have room: a wake-up beyond the limit is taken back, or given by one of the
      wakers that were counted below theirs. *)
  Definition room t :=
    refs (the_word t) <= ref_limit /\
    wakes (the_word t) + refs (the_word t) <= limit + ref_limit + busy t + in_poll t +
      (if cancelled (the_word t) then 1 else 0).

  Hypothesis some_refs : 1 <= ref_limit.

  Theorem the_counters_have_room : forall t, reachable t ->
    refs (the_word t) <= ref_limit /\
    wakes (the_word t) <= limit + ref_limit + busy t + in_poll t + 1.
  Proof.
    intros t R. assert (room t) as (? & ?); [| destruct (cancelled (the_word t)); lia].
    unfold room. induction R as [| t l t' R (R1 & R2) S]; [unfold Task.limit; simpl; lia |].
    apply holds in R as A. fields A S. clear A.
    destruct c, S; decide_step; unfold Task.limit in *; simpl in *; lia.
  Qed.
End Proof.
