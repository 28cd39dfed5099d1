import { PlinthError } from "../../../packages/sdk/src/errors.ts";
import { createContext, use, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import {
  Checkbox,
  FieldError,
  Form,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Select,
  SelectValue,
  Text,
  TextArea,
  TextField as AriaTextField,
  Button as AriaButton,
} from "react-aria-components";
import { ChevronDown, CircleAlert } from "lucide-react";
import { faultOf } from "../api/queries.ts";
import { useWords } from "../words/words.ts";
import { Button } from "./button.tsx";

interface ServiceFormProps {
  readonly children: ReactNode;
  /** The button's words. */
  readonly act: string;
  readonly cancel?: () => void;
  /** Sends it. If the service refuses, each of its details is shown at the field with that name, the rest above. */
  readonly onSubmit: () => Promise<unknown>;
  /** The form's names of fields, where they differ from the service's. */
  readonly fieldOf?: (serviceField: string) => string;
}

/**
 * A form whose errors are the service's own. Values are the page's state, so a refusal loses nothing. It is sent once at a
 * time.
 */
export function ServiceForm({ children, act, cancel, onSubmit, fieldOf = unchanged }: ServiceFormProps) {
  const { common, faults } = useWords();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [names, setNames] = useState<ReadonlySet<string>>(new Set());
  const byField = useMemo(() => fieldErrors(error, fieldOf), [error, fieldOf]);
  const elsewhere = elsewhereOf(error, byField, names);
  const form = useRef<HTMLFormElement>(null);

  useEffect(() => {
    if (error !== undefined) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [error]);

  async function send(sent: HTMLFormElement): Promise<void> {
    setNames(new Set(Array.from(sent.elements, (element) => element.getAttribute("name") ?? "")));
    setBusy(true);
    setError(undefined);
    try {
      await onSubmit();
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Form
      className="form"
      ref={form}
      validationBehavior="aria"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) void send(event.currentTarget);
      }}
    >
      {error !== undefined && elsewhere.length > 0 && (
        <div className="form-alert" role="alert">
          <CircleAlert aria-hidden size={18} />
          <div>
            <strong>{faultOf(error) === "failed" ? faults.formRefused : faults[faultOf(error)]}</strong>
            {elsewhere.map((text) => (
              <p key={text}>{text}</p>
            ))}
          </div>
        </div>
      )}
      <FieldErrors value={byField}>{children}</FieldErrors>
      <div className="buttons">
        <Button type="submit" className="primary" isPending={isBusy}>
          {act}
        </Button>
        {cancel !== undefined && <Button onPress={cancel}>{common.cancel}</Button>}
      </div>
    </Form>
  );
}

const unchanged = (field: string): string => field;

/** The service names a field in bean notation: `quota.files`, `redirectUris[0]`. The form has the part before. */
function fieldErrors(error: unknown, fieldOf: (field: string) => string): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  if (!(error instanceof PlinthError)) return found;
  for (const { field = "", message = "" } of error.details) {
    if (field === "") continue;
    (found[fieldOf(field.replace(/\[\d*\].*$/, ""))] ??= []).push(message);
  }
  return found;
}

/** Messages that no field of the form shows. */
function elsewhereOf(error: unknown, byField: Record<string, string[]>, names: ReadonlySet<string>): string[] {
  if (error === undefined) return [];
  if (!(error instanceof PlinthError)) return [error instanceof Error ? error.message : faultOf(error)];
  const shown = Object.entries(byField).filter(([name]) => !names.has(name));
  const general = error.details.filter(({ field = "" }) => field === "").map(({ message = "" }) => message);
  const rest = [...shown.flatMap(([name, messages]) => messages.map((text) => `${name}: ${text}`)), ...general];
  return rest.length === 0 && Object.keys(byField).length === 0 ? [error.message] : rest;
}

/**
 * The service's errors by field. They stay until the form is sent again: one that went while the person leaves the field
 * would move the button away from below the pointer.
 */
const FieldErrors = createContext<Readonly<Record<string, readonly string[]>>>({});

const useFieldError = (name: string): string | undefined => use(FieldErrors)[name]?.join(" ");

interface FieldProps {
  readonly label: string;
  /** The service's name of the field. */
  readonly name: string;
  readonly help?: ReactNode;
  readonly isRequired?: boolean;
  readonly isDisabled?: boolean;
}

interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: "text" | "email" | "password" | "number" | "url" | "datetime-local";
  readonly placeholder?: string;
  readonly isMultiline?: boolean;
  readonly autoComplete?: string;
}

export function TextField({ label, help, isMultiline = false, placeholder, ...field }: TextFieldProps) {
  const { common } = useWords();
  const error = useFieldError(field.name);
  return (
    <AriaTextField
      {...field}
      isInvalid={error !== undefined}
      autoComplete={field.autoComplete ?? "off"}
      className="field"
    >
      <Label>
        {label}
        {field.isRequired !== true && <span className="muted"> ({common.optional})</span>}
      </Label>
      {isMultiline ? <TextArea rows={4} placeholder={placeholder} /> : <Input placeholder={placeholder} />}
      {help !== undefined && (
        <Text slot="description" className="help">
          {help}
        </Text>
      )}
      <FieldError className="field-error">{error}</FieldError>
    </AriaTextField>
  );
}

interface SelectFieldProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly { readonly id: string; readonly name: string }[];
}

export function SelectField({ label, help, value, onChange, options, ...field }: SelectFieldProps) {
  const error = useFieldError(field.name);
  return (
    <Select
      {...field}
      isInvalid={error !== undefined}
      className="field"
      value={value === "" ? null : value}
      onChange={(key) => onChange(String(key ?? ""))}
    >
      <Label>{label}</Label>
      <AriaButton className="select-button">
        <SelectValue />
        <ChevronDown aria-hidden size={16} />
      </AriaButton>
      {help !== undefined && (
        <Text slot="description" className="help">
          {help}
        </Text>
      )}
      <FieldError className="field-error">{error}</FieldError>
      <Popover className="popover">
        <ListBox className="options">
          {options.map(({ id, name }) => (
            <ListBoxItem key={id} id={id}>
              {name}
            </ListBoxItem>
          ))}
        </ListBox>
      </Popover>
    </Select>
  );
}

interface CheckFieldProps {
  readonly name?: string;
  readonly isSelected: boolean;
  readonly onChange: (isSelected: boolean) => void;
  readonly isDisabled?: boolean;
  readonly children: ReactNode;
}

export function CheckField({ children, ...props }: CheckFieldProps) {
  return (
    <Checkbox {...props} className="check">
      <span className="box" aria-hidden>
        <svg viewBox="0 0 18 18">
          <polyline points="3 9 7.5 13.5 15 5" />
        </svg>
      </span>
      <span>{children}</span>
    </Checkbox>
  );
}
