(** What the other files share. *)

(** The function that sets one field of a record. [eta] builds a record again from its fields. *)
Ltac setter eta field :=
  let built := eval cbv delta [eta] in eta in
  match eval pattern field in built with ?with_field _ =>
    let set := eval cbv beta in (fun v => with_field (fun _ => v)) in exact set
  end.

(** All that the hypotheses say, in single facts. *)
Ltac facts := repeat match goal with
  | H : _ /\ _ |- _ => destruct H
  | H : exists _, _ |- _ => destruct H
  | H : ?a = ?a -> _ |- _ => specialize (H eq_refl)
  | H : ?constructor _ = ?constructor _ |- _ => injection H as H
  | H : ?constructor _ _ = ?constructor _ _ |- _ => injection H as H
  end; subst.
