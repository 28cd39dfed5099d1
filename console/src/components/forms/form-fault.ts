/** A mistake in a field that the console finds without asking the service. Thrown while a form is sent. */
export class FormFault extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}
