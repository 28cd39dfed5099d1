/** What the console itself knows to be wrong with a field, before the service is asked: thrown while a form is sent. */
export class FormFault extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}
